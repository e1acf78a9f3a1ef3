//===- ParameterFiles.cpp - where the bytes of weights are ----------------===//

#include "ExportDetail.h"

#include "hethub/Import/Import.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using onnx::TensorProto;

namespace hethub::exporter {

void setExternal(TensorProto &tensor, StringRef location, int64_t offset,
                 int64_t length) {
  tensor.set_data_location(TensorProto::EXTERNAL);
  auto add = [&](const char *key, const std::string &value) {
    auto *entry = tensor.add_external_data();
    entry->set_key(key);
    entry->set_value(value);
  };
  add("location", location.str());
  add("offset", std::to_string(offset));
  add("length", std::to_string(length));
}

static LogicalResult readInto(hh::ParameterOp parameter, TensorProto &tensor) {
  llvm::Expected<std::string> bytes = import::readParameterBytes(parameter);
  if (!bytes)
    return parameter.emitError() << llvm::toString(bytes.takeError());
  *tensor.mutable_raw_data() = std::move(*bytes);
  return success();
}

/// Small ones, and those that the file holds in another form than raw bytes.
static bool isInline(hh::ParameterOp parameter) {
  return !parameter.getOffset() || *parameter.getLength() <= maxInlineBytes;
}

std::string pathBelow(StringRef folder, StringRef path) {
  SmallString<256> real, parent;
  if (llvm::sys::fs::real_path(path, real) ||
      llvm::sys::fs::real_path(folder.empty() ? "." : folder, parent))
    return "";
  StringRef rest = real;
  if (!rest.consume_front(parent) ||
      !(parent.ends_with("/") || rest.consume_front("/")))
    return "";
  return rest.str();
}

PlaceParameter referenceFrom(StringRef folder) {
  return [folder = folder.str(), known = llvm::StringMap<std::string>()](
             hh::ParameterOp parameter,
             TensorProto &tensor) mutable -> LogicalResult {
    if (isInline(parameter))
      return readInto(parameter, tensor);
    auto [location, isNew] = known.try_emplace(parameter.getFile());
    if (isNew)
      location->second = pathBelow(folder, parameter.getFile());
    if (location->second.empty())
      return parameter.emitError("an ONNX file can only point at data in its "
                                 "own folder or below (--pack-weights copies "
                                 "the weights), got: ")
             << parameter.getFile() << " for a file in "
             << (folder.empty() ? "." : folder);
    setExternal(tensor, location->second, *parameter.getOffset(),
                *parameter.getLength());
    return success();
  };
}

LogicalResult DataFile::place(hh::ParameterOp parameter, TensorProto &tensor) {
  if (isInline(parameter))
    return readInto(parameter, tensor);
  size = llvm::alignTo(size, dataAlignment);
  parts.push_back({parameter, size});
  setExternal(tensor, name, size, *parameter.getLength());
  size += *parameter.getLength();
  return success();
}

LogicalResult DataFile::write(raw_ostream &os) const {
  int64_t position = 0;
  for (Part part : parts) {
    os.write_zeros(part.offset - position);
    if (llvm::Error error = import::copyParameterBytes(part.parameter, os))
      return part.parameter.emitError() << llvm::toString(std::move(error));
    position = part.offset + *part.parameter.getLength();
  }
  return success();
}

} // namespace hethub::exporter
