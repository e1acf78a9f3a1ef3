// Write beside, then rename.
#include "FileWriter.h"
#include "hethub/runtime/Error.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
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
  if (data.empty())
    return; // a tensor without elements has no address either
  if (std::fwrite(data.data(), 1, data.size(), file_) != data.size())
    fail("cannot write ", path_, ": ", std::strerror(errno));
  written_ += data.size();
}

void FileWriter::finish(bool durable) {
  // A full disk may show only now: close() and a late flush lose its error.
  int error = std::fflush(file_) != 0 || (durable && fsync(fileno(file_)) != 0)
                  ? errno
                  : 0;
  if (std::fclose(file_) != 0 && error == 0)
    error = errno;
  file_ = nullptr;
  if (error == 0 && std::rename(part_.c_str(), path_.c_str()) != 0)
    error = errno;
  if (error != 0) {
    std::remove(part_.c_str());
    fail("cannot write ", path_, ": ", std::strerror(error));
  }
}

void hethub::runtime::writeFile(const std::string &path, std::string_view text,
                                bool durable) {
  FileWriter file(path);
  file.write(text);
  file.finish(durable);
}

void hethub::runtime::syncFolder(const std::string &path) {
  int folder = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0)
    fail("cannot open ", path, ": ", std::strerror(errno));
  int status = fsync(folder);
  int error = errno;
  close(folder);
  // Some network file systems have no such call and need none.
  if (status != 0 && error != EINVAL && error != ENOTSUP)
    fail("cannot write ", path, ": ", std::strerror(error));
}
