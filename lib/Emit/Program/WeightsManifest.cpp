//===- WeightsManifest.cpp - where the parameters of a stage are ----------===//

#include "hethub/Emit/Program/WeightsManifest.h"

#include "hethub/Emit/Program/Types.h"
#include "hethub/Import/Import.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/Path.h"

using namespace mlir;

namespace hethub::emit {

namespace {

struct Entry {
  hh::ParameterOp parameter;
  StringRef dtype;
  ArrayRef<int64_t> shape;
  std::string file;
  uint64_t offset = 0;
  uint64_t length = 0;
  bool packed = false;
};

} // namespace

static LogicalResult fileError(Operation *at, const Twine &file,
                               std::error_code error) {
  return at->emitError("cannot write ") << file << ": " << error.message();
}

/// A safetensors file of all packed entries: header length, JSON header padded
/// to 8 bytes, then the data.
static LogicalResult writeSafetensors(MutableArrayRef<Entry> entries,
                                      StringRef path, Operation *at) {
  // Widest elements first, so that each tensor starts at a multiple of its
  // element size.
  SmallVector<Entry *> packed;
  for (Entry &entry : entries)
    if (entry.packed)
      packed.push_back(&entry);
  auto elementBytes = [](const Entry *entry) {
    int64_t count = 1;
    for (int64_t dim : entry->shape)
      count *= dim;
    return count ? static_cast<int64_t>(entry->length) / count : 0;
  };
  llvm::stable_sort(packed, [&](const Entry *a, const Entry *b) {
    return elementBytes(a) > elementBytes(b);
  });
  llvm::json::Object header;
  uint64_t position = 0;
  for (Entry *entry : packed) {
    entry->offset = position;
    position += entry->length;
    header[entry->parameter.getSymName()] = llvm::json::Object{
        {"dtype", entry->dtype},
        {"shape", llvm::json::Array(entry->shape)},
        {"data_offsets", llvm::json::Array({static_cast<int64_t>(entry->offset),
                                            static_cast<int64_t>(position)})}};
  }
  std::string text;
  llvm::raw_string_ostream(text) << llvm::json::Value(std::move(header));
  text.resize(llvm::alignTo(text.size(), 8), ' ');
  uint64_t size = text.size();

  std::error_code error;
  llvm::raw_fd_ostream os(path, error);
  if (error)
    return fileError(at, path, error);
  for (int i = 0; i < 8; ++i)
    os << static_cast<char>(size >> (8 * i));
  os << text;
  for (Entry *entry : packed) {
    entry->offset += 8 + size;
    entry->file = llvm::sys::path::filename(path).str();
    if (llvm::Error problem = import::copyParameterBytes(entry->parameter, os))
      return entry->parameter.emitError() << llvm::toString(std::move(problem));
  }
  os.close();
  if (os.has_error()) {
    error = os.error();
    os.clear_error();
    return fileError(at, path, error);
  }
  return success();
}

static FailureOr<Entry> entryOf(hh::ParameterOp parameter, bool pack) {
  auto type = cast<RankedTensorType>(parameter.getType());
  Entry entry{parameter, safetensorsName(type.getElementType()),
              type.getShape()};
  if (entry.dtype.empty())
    return parameter.emitError("element type of a parameter must be one that "
                               "safetensors has, got: ")
           << type.getElementType();
  entry.length = fileBytes(type);
  entry.packed = pack || parameter.getTensor();
  if (!entry.packed) {
    SmallString<128> path(parameter.getFile());
    if (std::error_code error = llvm::sys::fs::make_absolute(path))
      return parameter.emitError("cannot resolve ")
             << parameter.getFile() << ": " << error.message();
    entry.file = path.str().str();
    entry.offset = *parameter.getOffset();
  }
  return entry;
}

LogicalResult writeWeights(const hh::StageParts &stage, StringRef folder,
                           bool pack) {
  hh::ProgramOp program = stage.forward;
  SymbolTableCollection symbols;
  llvm::MapVector<StringRef, hh::GetParameterOp> used;
  for (hh::ProgramOp part : stage.programs())
    part.walk([&](hh::GetParameterOp get) {
      used.insert({get.getParameter(), get});
    });
  SmallVector<Entry> entries;
  for (auto &[name, get] : used) {
    auto parameter = symbols.lookupNearestSymbolFrom<hh::ParameterOp>(
        get, get.getParameterAttr());
    FailureOr<Entry> entry = entryOf(parameter, pack);
    if (failed(entry))
      return failure();
    entries.push_back(*entry);
  }
  if (llvm::any_of(entries, [](const Entry &entry) { return entry.packed; }) &&
      failed(writeSafetensors(entries, (folder + "/weights.safetensors").str(),
                              program)))
    return failure();

  llvm::json::Array list;
  for (Entry &entry : entries)
    list.push_back(
        llvm::json::Object{{"name", entry.parameter.getSymName()},
                           {"file", entry.file},
                           {"offset", static_cast<int64_t>(entry.offset)},
                           {"length", static_cast<int64_t>(entry.length)},
                           {"dtype", entry.dtype},
                           {"shape", llvm::json::Array(entry.shape)}});
  std::string path = (folder + "/weights.json").str();
  std::error_code error;
  llvm::raw_fd_ostream os(path, error);
  if (error)
    return fileError(program, path, error);
  os << llvm::formatv("{0:2}\n", llvm::json::Value(llvm::json::Object{
                                     {"parameters", std::move(list)}}));
  return success();
}

} // namespace hethub::emit
