//===- ImportDetail.h - the steps of an import -----------------*- C++ -*-===//
//
// Each step works on the ModelProto in place, in the order of this file, and
// throws ModelError where the model is wrong. Only files that are compiled with
// exceptions may include this header.
//===----------------------------------------------------------------------===//

#ifndef HETHUB_LIB_IMPORT_IMPORTDETAIL_H
#define HETHUB_LIB_IMPORT_IMPORTDETAIL_H

#include "hethub/Dialect/ONNX/IR/Proto.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/MemoryBuffer.h"

#include <functional>
#include <memory>
#include <stdexcept>
#include <string>

namespace hethub::import {

/// A mistake in the model: the rule, the node or value and what was found;
/// importModel adds the file.
struct ModelError : std::runtime_error {
  using std::runtime_error::runtime_error;
};
[[noreturn]] inline void fail(const llvm::Twine &message) {
  throw ModelError(message.str());
}

struct ModelFile {
  std::string path;
  std::string folder; ///< of the path as given; "" for the working directory
  std::unique_ptr<llvm::MemoryBuffer> bytes; ///< mapped, not read
};

/// The newest opset of the default domain that the dialect holds.
int newestOpset();

/// "node 'conv1' (Conv)"; an unnamed node is called by its first output.
std::string describe(const ::onnx::NodeProto &node);

/// Calls `function` for the graph and all its sub-graphs, outer ones first.
void forEachGraph(::onnx::GraphProto &graph,
                  const std::function<void(::onnx::GraphProto &)> &function);

//===----------------------------------------------------------------------===//
// Where the bytes of a tensor are: external_data entries that the importer
// writes into every tensor it reads
//===----------------------------------------------------------------------===//

struct Source {
  std::string
      location; ///< relative to the model's folder; "" for the model file
  int64_t offset = 0, length = 0;
  bool isMessage = false; ///< the slice holds a TensorProto, not raw bytes
};

/// Tensors with more raw data than this are not parsed: only their source is
/// kept.
constexpr size_t maxParsedBytes = 1024;

void setSource(::onnx::TensorProto &tensor, const Source &source,
               bool isExternal);
/// False where the tensor was made by a conversion and exists in no file.
bool getSource(const ::onnx::TensorProto &tensor, Source &source);
/// True where the values are not in the message.
bool isExternal(const ::onnx::TensorProto &tensor);

//===----------------------------------------------------------------------===//
// The steps
//===----------------------------------------------------------------------===//

/// Maps the file; refuses what is no model file by its first bytes.
ModelFile openModel(llvm::StringRef path);

/// Parses the wire format without the large tensors, for which it keeps the
/// sources.
void parseModel(const ModelFile &file, ::onnx::ModelProto &model);
/// Parses one tensor message, values included.
bool parseTensor(llvm::StringRef bytes, ::onnx::TensorProto &tensor);

/// Checks element type, dims and data length of every tensor, and location,
/// existence and size of external data.
void checkTensors(::onnx::ModelProto &model, const ModelFile &file);

/// Spells the default domain as "", checks versions and names.
void normalise(::onnx::ModelProto &model);

/// Every name is defined once and before its use: sorts the nodes, refuses
/// cycles and undefined names.
void sortGraphs(::onnx::ModelProto &model);

/// ONNX's checker; unknown operators are listed all at once.
void checkModel(::onnx::ModelProto &model);

/// Replaces each call of a model-local function by its body.
void inlineFunctions(::onnx::ModelProto &model);

/// Sparse weights and constants become a ScatterND of their values into zeros,
/// so that nothing large is built here.
void densify(::onnx::ModelProto &model);

/// Writes the batch of each Scan of opset 8 as a Scan around it; for
/// convertVersion.
void unbatchScans(::onnx::ModelProto &model);

/// To the newest opset of the default domain.
void convertVersion(::onnx::ModelProto &model);

/// What the file declares, before any conversion.
struct Declared {
  llvm::StringMap<::onnx::TypeProto> types; ///< of values, by name
  llvm::StringSet<> listed; ///< values that stand in some value_info
  int64_t opset = 0;        ///< of the default domain; 0: none
};

/// One operation a node.
mlir::OwningOpRef<mlir::ModuleOp> buildModule(const ::onnx::ModelProto &model,
                                              const Declared &declared,
                                              const ModelFile &file,
                                              mlir::MLIRContext *context);

} // namespace hethub::import

#endif // HETHUB_LIB_IMPORT_IMPORTDETAIL_H
