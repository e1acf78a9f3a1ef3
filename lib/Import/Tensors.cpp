//===- Tensors.cpp - checks tensors and resolves external data ------------===//

#include "ImportDetail.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/Path.h"

using llvm::StringRef;
using llvm::Twine;
using onnx::GraphProto;
using onnx::ModelProto;
using onnx::NodeProto;
using onnx::TensorProto;

namespace hethub::import {

//===----------------------------------------------------------------------===//
// Sources
//===----------------------------------------------------------------------===//

// The checker opens the file of a location unless it begins with this sign; our
// own checks are stricter, and a model file may well be a link. The inliner and
// the version converter pass the entries on.
static constexpr char checkedSign = '#';
static constexpr const char *messageKey = "message";

void setSource(TensorProto &tensor, const Source &source, bool external) {
  tensor.clear_external_data();
  auto add = [&](const char *key, const std::string &value) {
    auto *entry = tensor.add_external_data();
    entry->set_key(key);
    entry->set_value(value);
  };
  add("location", checkedSign + source.location);
  add("offset", std::to_string(source.offset));
  add("length", std::to_string(source.length));
  if (source.isMessage)
    add(messageKey, "1");
  if (external)
    tensor.set_data_location(TensorProto::EXTERNAL);
}

bool getSource(const TensorProto &tensor, Source &source) {
  bool found = false;
  for (const auto &entry : tensor.external_data()) {
    if (entry.key() == "location") {
      found = true;
      source.location = entry.value().substr(1);
    } else if (entry.key() == "offset") {
      source.offset = std::stoll(entry.value());
    } else if (entry.key() == "length") {
      source.length = std::stoll(entry.value());
    } else if (entry.key() == messageKey) {
      source.isMessage = true;
    }
  }
  return found;
}

bool isExternal(const TensorProto &tensor) {
  return tensor.data_location() == TensorProto::EXTERNAL;
}

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

namespace {

class TensorChecker {
public:
  explicit TensorChecker(const ModelFile &file) : file(file) {}

  void check(TensorProto &tensor, const std::string &what) {
    if (tensor.has_segment())
      fail(what + ": tensors in segments are not supported");
    int type = tensor.data_type();
    if (type != TensorProto::STRING && !ox::elementBits(type))
      fail(what +
           ": element type must be one of the format's, got: " + Twine(type));
    for (int64_t dim : tensor.dims())
      if (dim < 0)
        fail(what + ": dims must not be negative, got: " + Twine(dim));
    std::optional<int64_t> count = ox::elementCount(tensor);
    std::optional<int64_t> bytes = ox::rawByteCount(tensor);
    if (!count || (type != TensorProto::STRING && !bytes))
      fail(what + ": number of elements must fit 64 bits, got dims: " +
           llvm::join(
               llvm::map_range(tensor.dims(),
                               [](int64_t dim) { return std::to_string(dim); }),
               " x "));
    Source source;
    if (isExternal(tensor) && !isChecked(tensor)) {
      if (type == TensorProto::STRING)
        fail(what + ": strings cannot be external data");
      resolve(tensor, *bytes, what);
    } else if (isExternal(tensor)) {
      getSource(tensor, source);
      checkLength(what, source.length, *bytes);
    } else if (tensor.has_raw_data()) {
      if (type == TensorProto::STRING)
        fail(what + ": strings must not be stored as raw data");
      checkLength(what, tensor.raw_data().size(), *bytes);
    } else {
      checkTyped(tensor, *count, what);
    }
  }

private:
  static bool isChecked(const TensorProto &tensor) {
    return tensor.external_data_size() == 3 &&
           !tensor.external_data(0).value().empty() &&
           tensor.external_data(0).value()[0] == checkedSign;
  }

  static void checkLength(const std::string &what, int64_t length,
                          int64_t bytes) {
    if (length != bytes)
      fail(what + ": raw data must be the " + Twine(bytes) +
           " bytes that type and dims need, got: " + Twine(length));
  }

  static void checkTyped(const TensorProto &tensor, int64_t count,
                         const std::string &what) {
    int64_t expected = count, stored;
    switch (tensor.data_type()) {
    case TensorProto::COMPLEX64:
      expected *= 2;
      [[fallthrough]];
    case TensorProto::FLOAT:
      stored = tensor.float_data_size();
      break;
    case TensorProto::COMPLEX128:
      expected *= 2;
      [[fallthrough]];
    case TensorProto::DOUBLE:
      stored = tensor.double_data_size();
      break;
    case TensorProto::INT64:
      stored = tensor.int64_data_size();
      break;
    case TensorProto::UINT32:
    case TensorProto::UINT64:
      stored = tensor.uint64_data_size();
      break;
    case TensorProto::STRING:
      stored = tensor.string_data_size();
      break;
    default: {
      int bits = ox::elementBits(tensor.data_type());
      if (bits < 6)
        expected = llvm::divideCeil(count * bits, 8);
      stored = tensor.int32_data_size();
    }
    }
    if (stored != expected)
      fail(what + ": data must hold the " + Twine(expected) +
           " values that type and dims need, got: " + Twine(stored));
  }

  /// Checks an external reference and rewrites it: location, offset and length
  /// all present and right.
  void resolve(TensorProto &tensor, int64_t bytes, const std::string &what) {
    Source source;
    bool hasLength = false;
    for (const auto &entry : tensor.external_data()) {
      StringRef value = entry.value();
      if (entry.key() == "location")
        source.location = entry.value();
      auto number = [&](const char *name) {
        uint64_t result;
        if (value.getAsInteger(10, result) || result > INT64_MAX)
          fail(what + ": " + name +
               " of external data must be a number of bytes, got: " + value);
        return static_cast<int64_t>(result);
      };
      if (entry.key() == "offset")
        source.offset = number("offset");
      if (entry.key() == "length") {
        source.length = number("length");
        hasLength = source.length != 0;
      }
    }
    // Exporters write a length of 0 for "the rest".
    if (!hasLength)
      source.length = bytes;
    if (source.length != bytes)
      fail(what + ": length of external data must be the " + Twine(bytes) +
           " bytes that type and dims need, got: " + Twine(source.length));
    int64_t size = fileSize(source.location, what), end;
    if (llvm::AddOverflow(source.offset, source.length, end) || end > size)
      fail(what + ": offset and length of external data must lie within '" +
           source.location + "' of " + Twine(size) + " bytes, got: offset " +
           Twine(source.offset) + ", length " + Twine(source.length));
    setSource(tensor, source, /*external=*/true);
  }

  /// Size of an external file that the model may read.
  int64_t fileSize(const std::string &location, const std::string &what) {
    auto [known, added] = sizes.try_emplace(location, 0);
    if (!added)
      return known->second;
    if (location.empty())
      fail(what + ": external data must have a location");
    if (llvm::sys::path::is_absolute(location))
      fail(what +
           ": location of external data must be relative to the model's "
           "folder, got an absolute path: " +
           location);
    for (auto it = llvm::sys::path::begin(location),
              end = llvm::sys::path::end(location);
         it != end; ++it)
      if (*it == "..")
        fail(what +
             ": location of external data must not leave the model's folder "
             "with '..', got: " +
             location);
    llvm::SmallString<256> path(file.folder);
    llvm::sys::path::append(path, location);
    llvm::sys::fs::file_status status;
    if (std::error_code code = llvm::sys::fs::status(path, status))
      fail(what + ": cannot read external data '" + location +
           "': " + code.message());
    if (!llvm::sys::fs::is_regular_file(status))
      fail(what +
           ": location of external data must be a file, got: " + location);
    if (!isInside(path))
      fail(what +
           ": external data must not lead out of the model's folder through a "
           "link, got: " +
           location);
    return known->second = status.getSize();
  }

  /// A link may lead to where the model itself is linked to (caches keep all
  /// files of a model in one blob folder).
  bool isInside(StringRef path) {
    llvm::SmallString<256> target, folder, model;
    if (llvm::sys::fs::real_path(path, target) ||
        llvm::sys::fs::real_path(file.folder.empty() ? "." : file.folder,
                                 folder) ||
        llvm::sys::fs::real_path(file.path, model))
      return false;
    auto below = [&](StringRef parent) {
      StringRef rest = target;
      return rest.consume_front(parent) &&
             (parent.ends_with("/") || rest.starts_with("/"));
    };
    return below(folder) || below(llvm::sys::path::parent_path(model));
  }

  const ModelFile &file;
  llvm::StringMap<int64_t> sizes;
};

void checkNodeTensors(NodeProto &node, TensorChecker &checker);

void checkGraphTensors(GraphProto &graph, TensorChecker &checker) {
  for (TensorProto &tensor : *graph.mutable_initializer())
    checker.check(tensor, "weight '" + tensor.name() + "'");
  for (auto &sparse : *graph.mutable_sparse_initializer()) {
    std::string what = "sparse weight '" + sparse.values().name() + "'";
    checker.check(*sparse.mutable_values(), what);
    checker.check(*sparse.mutable_indices(), what);
  }
  for (NodeProto &node : *graph.mutable_node())
    checkNodeTensors(node, checker);
}

void checkNodeTensors(NodeProto &node, TensorChecker &checker) {
  for (auto &attribute : *node.mutable_attribute()) {
    auto what = [&] {
      return describe(node) + ", attribute '" + attribute.name() + "'";
    };
    if (attribute.has_t())
      checker.check(*attribute.mutable_t(), what());
    for (TensorProto &tensor : *attribute.mutable_tensors())
      checker.check(tensor, what());
    if (attribute.has_sparse_tensor()) {
      checker.check(*attribute.mutable_sparse_tensor()->mutable_values(),
                    what());
      checker.check(*attribute.mutable_sparse_tensor()->mutable_indices(),
                    what());
    }
    if (attribute.has_g())
      checkGraphTensors(*attribute.mutable_g(), checker);
    for (GraphProto &graph : *attribute.mutable_graphs())
      checkGraphTensors(graph, checker);
  }
}

} // namespace

void checkTensors(ModelProto &model, const ModelFile &file) {
  TensorChecker checker(file);
  checkGraphTensors(*model.mutable_graph(), checker);
  for (auto &function : *model.mutable_functions())
    for (NodeProto &node : *function.mutable_node())
      checkNodeTensors(node, checker);
}

} // namespace hethub::import
