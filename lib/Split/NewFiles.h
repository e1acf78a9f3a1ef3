//===- NewFiles.h - files that appear together or not at all ---*- C++ -*-===//

#ifndef HETHUB_LIB_SPLIT_NEWFILES_H
#define HETHUB_LIB_SPLIT_NEWFILES_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

#include <string>
#include <vector>

namespace hethub::split {

/// What was written is removed again unless keep() is called. Throws
/// ModelError.
class NewFiles {
public:
  NewFiles() = default;
  NewFiles(const NewFiles &) = delete;
  ~NewFiles();

  void write(const std::string &path,
             llvm::function_ref<void(llvm::raw_fd_ostream &)> content);
  void writeJson(const std::string &path, const llvm::json::Value &value);
  void makeFolder(const std::string &path);
  void keep() { made.clear(); }

private:
  std::vector<std::string> made; ///< files and folders, in their order
};

} // namespace hethub::split

#endif // HETHUB_LIB_SPLIT_NEWFILES_H
