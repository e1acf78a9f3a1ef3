//===- NewFiles.cpp - files that appear together or not at all ------------===//

#include "NewFiles.h"

#include "../Import/ImportDetail.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;
using hethub::import::fail;

namespace hethub::split {

NewFiles::~NewFiles() {
  for (const std::string &path : llvm::reverse(made))
    sys::fs::remove(path);
}

void NewFiles::write(const std::string &path,
                     function_ref<void(raw_fd_ostream &)> content) {
  std::error_code error;
  raw_fd_ostream os(path, error);
  if (!error) {
    made.push_back(path);
    content(os);
    os.close();
    error = os.error();
    os.clear_error();
  }
  if (error)
    fail("cannot write " + path + ": " + error.message());
}

void NewFiles::writeJson(const std::string &path, const json::Value &value) {
  write(path, [&](raw_fd_ostream &os) { os << formatv("{0:2}\n", value); });
}

void NewFiles::makeFolder(const std::string &path) {
  bool existed = sys::fs::exists(path);
  if (std::error_code error = sys::fs::create_directories(path))
    fail("cannot create " + path + ": " + error.message());
  if (!existed)
    made.push_back(path);
}

} // namespace hethub::split
