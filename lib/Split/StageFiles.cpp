//===- StageFiles.cpp - writes a part of a model with its weights ---------===//

#include "StageFiles.h"

#include "hethub/Export/ModelFiles.h"
#include "hethub/Import/Import.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/Path.h"

#include <climits>

using namespace llvm;
using hethub::import::fail;
using hethub::import::Source;
using onnx::GraphProto;
using onnx::ModelProto;
using onnx::NodeProto;
using onnx::TensorProto;

namespace hethub::split {

namespace {

/// Gives each tensor of a model its values, or says where they are.
class WeightWriter {
public:
  WeightWriter(const ModelCut &cut, StringRef folder, std::string dataName,
               bool reference)
      : cut(cut), folder(folder), dataName(std::move(dataName)),
        reference(reference) {}

  void place(ModelProto &model);
  void writeData(NewFiles &files);

  int64_t weightBytes = 0;

private:
  struct Part {
    Source source;
    int64_t offset;
  };

  void placeWeight(TensorProto &tensor);
  void placeInline(TensorProto &tensor);
  void placeNode(NodeProto &node);
  void placeGraph(GraphProto &graph);
  std::string pathOf(const Source &source) const;
  std::unique_ptr<MemoryBuffer> read(const Source &source) const;

  const ModelCut &cut;
  std::string folder, dataName;
  bool reference;
  int64_t size = 0;
  std::vector<Part> parts;
  StringMap<std::string> locations; ///< of data files, from `folder`
};

} // namespace

std::string WeightWriter::pathOf(const Source &source) const {
  if (source.location.empty())
    return cut.file.path;
  SmallString<256> path(cut.file.folder);
  sys::path::append(path, source.location);
  return path.str().str();
}

std::unique_ptr<MemoryBuffer> WeightWriter::read(const Source &source) const {
  auto slice =
      MemoryBuffer::getFileSlice(pathOf(source), source.length, source.offset);
  if (!slice)
    fail("cannot read " + pathOf(source) + ": " + slice.getError().message());
  return std::move(*slice);
}

/// Runtimes read external data of weights alone: others stand in the file.
void WeightWriter::placeInline(TensorProto &tensor) {
  Source source;
  bool external =
      import::isExternal(tensor) && import::getSource(tensor, source);
  tensor.clear_external_data();
  if (!external)
    return;
  tensor.clear_data_location();
  std::unique_ptr<MemoryBuffer> bytes = read(source);
  if (!source.isMessage) {
    tensor.set_raw_data(bytes->getBuffer().str());
    return;
  }
  if (!import::parseTensor(bytes->getBuffer(), tensor))
    fail("no tensor at its place in '" + pathOf(source) + "'");
}

void WeightWriter::placeWeight(TensorProto &tensor) {
  weightBytes += ox::rawByteCount(tensor).value_or(0);
  Source source;
  if (!import::isExternal(tensor) || !import::getSource(tensor, source) ||
      source.isMessage || source.length <= exporter::maxInlineBytes)
    return placeInline(tensor);
  tensor.clear_external_data();
  if (!reference) {
    size = alignTo(size, exporter::dataAlignment);
    parts.push_back({source, size});
    exporter::setExternal(tensor, dataName, size, source.length);
    size += source.length;
    return;
  }
  auto [location, isNew] = locations.try_emplace(source.location);
  if (isNew)
    location->second = exporter::pathBelow(folder, pathOf(source));
  if (location->second.empty())
    fail("stages can only point at weights in their own folder or below: "
         "write them to the folder of '" +
         pathOf(source) + "' or above it, got: " + folder);
  exporter::setExternal(tensor, location->second, source.offset, source.length);
}

void WeightWriter::placeNode(NodeProto &node) {
  if (StringRef domain = import::domainInFiles(node.domain(), node.op_type());
      domain != node.domain())
    node.set_domain(domain.str());
  for (auto &attribute : *node.mutable_attribute()) {
    if (attribute.has_t())
      placeInline(*attribute.mutable_t());
    for (TensorProto &tensor : *attribute.mutable_tensors())
      placeInline(tensor);
    if (attribute.has_sparse_tensor()) {
      placeInline(*attribute.mutable_sparse_tensor()->mutable_values());
      placeInline(*attribute.mutable_sparse_tensor()->mutable_indices());
    }
    if (attribute.has_g())
      placeGraph(*attribute.mutable_g());
    for (GraphProto &graph : *attribute.mutable_graphs())
      placeGraph(graph);
  }
}

void WeightWriter::placeGraph(GraphProto &graph) {
  for (TensorProto &tensor : *graph.mutable_initializer())
    placeWeight(tensor);
  for (auto &sparse : *graph.mutable_sparse_initializer()) {
    placeInline(*sparse.mutable_values());
    placeInline(*sparse.mutable_indices());
  }
  for (NodeProto &node : *graph.mutable_node())
    placeNode(node);
}

void WeightWriter::place(ModelProto &model) {
  placeGraph(*model.mutable_graph());
  for (auto &function : *model.mutable_functions())
    for (NodeProto &node : *function.mutable_node())
      placeNode(node);
}

/// One slice after the other is mapped: no more memory than the page cache.
void WeightWriter::writeData(NewFiles &files) {
  if (parts.empty())
    return;
  files.write(folder + "/" + dataName, [&](raw_fd_ostream &os) {
    int64_t position = 0;
    for (const Part &part : parts) {
      os.write_zeros(part.offset - position);
      os << read(part.source)->getBuffer();
      position = part.offset + part.source.length;
      if (os.has_error())
        return;
    }
  });
}

void writeStages(const ModelCut &cut, StringRef folder,
                 function_ref<std::string(unsigned)> stem,
                 bool referenceWeights, NewFiles &written) {
  std::vector<ModelProto> models;
  std::vector<StageFile> files;
  models.reserve(cut.stageCount);
  for (unsigned stage = 0; stage < cut.stageCount; ++stage) {
    models.push_back(stageModel(cut, stage));
    int64_t bytes = writeModelFile(cut, models.back(), folder, stem(stage),
                                   referenceWeights, written);
    files.push_back({&models.back(), stem(stage) + ".onnx", bytes});
  }
  std::vector<std::string> inputs, outputs;
  for (const auto &input : cut.model.graph().input())
    inputs.push_back(input.name());
  for (const auto &output : cut.model.graph().output())
    outputs.push_back(output.name());
  written.writeJson((folder + "/stages.json").str(),
                    describeStages(files, inputs, outputs));
}

int64_t writeModelFile(const ModelCut &cut, ModelProto &model, StringRef folder,
                       StringRef stem, bool referenceWeights, NewFiles &files) {
  std::string path = (folder + "/" + stem + ".onnx").str();
  if (sys::fs::equivalent(path, cut.file.path))
    fail("a stage must not replace the model that is cut, got: " + path);
  StringRef parent = sys::path::parent_path(path);
  files.makeFolder(parent.str());
  WeightWriter weights(cut, parent, (sys::path::filename(path) + ".data").str(),
                       referenceWeights);
  weights.place(model);
  if (model.ByteSizeLong() > INT_MAX)
    fail("a model file must be below 2 GiB without its weights, got: " +
         Twine(model.ByteSizeLong()) + " bytes for " + path);
  weights.writeData(files);
  files.write(path,
              [&](raw_fd_ostream &os) { os << model.SerializeAsString(); });
  return weights.weightBytes;
}

} // namespace hethub::split
