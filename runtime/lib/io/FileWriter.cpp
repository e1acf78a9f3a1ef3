// Write beside, then rename.
#include "FileWriter.h"
#include "hethub/runtime/Error.h"

#include <cerrno>
#include <cstring>
#include <unistd.h>

using namespace hethub::runtime;

FileWriter::FileWriter(const std::string &path)
    : path_(path), part_(path + ".part" + std::to_string(getpid())) {
  file_ = std::fopen(part_.c_str(), "wb");
  if (!file_)
    fail("cannot write ", path, ": ", std::strerror(errno));
}

FileWriter::~FileWriter() {
  if (file_) {
    std::fclose(file_);
    std::remove(part_.c_str());
  }
}

void FileWriter::write(std::string_view data) {
  if (std::fwrite(data.data(), 1, data.size(), file_) != data.size())
    fail("cannot write ", path_, ": ", std::strerror(errno));
  written_ += data.size();
}

void FileWriter::finish() {
  int status = std::fclose(file_);
  file_ = nullptr;
  if (status != 0 || std::rename(part_.c_str(), path_.c_str()) != 0) {
    int error = errno;
    std::remove(part_.c_str());
    fail("cannot write ", path_, ": ", std::strerror(error));
  }
}

void hethub::runtime::writeFile(const std::string &path,
                                std::string_view text) {
  FileWriter file(path);
  file.write(text);
  file.finish();
}
