// Files that are either whole or not there.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

namespace hethub::runtime {

/// Writes to a file beside the target; finish() renames it, and a writer that
/// is not finished removes it.
class FileWriter {
public:
  explicit FileWriter(const std::string &path);
  ~FileWriter();
  FileWriter(const FileWriter &) = delete;
  FileWriter &operator=(const FileWriter &) = delete;

  void write(std::string_view data);
  /// `durable`: returns only when the bytes are on the disk.
  void finish(bool durable = false);
  uint64_t written() const { return written_; }

private:
  std::string path_, part_;
  std::FILE *file_;
  uint64_t written_ = 0;
};

void writeFile(const std::string &path, std::string_view text,
               bool durable = false);

/// Puts the names in a folder on the disk: new, renamed and removed files.
void syncFolder(const std::string &path);

} // namespace hethub::runtime
