// mmap of weight files. PROT_WRITE with MAP_PRIVATE: an optimizer may write to
// a parameter, and the file never changes.
#include "Mapping.h"
#include "hethub/runtime/Error.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace hethub::runtime;

Mapping::Mapping(const std::string &path, int64_t begin, int64_t end) {
  int64_t page = sysconf(_SC_PAGESIZE);
  start_ = begin / page * page;
  length_ = static_cast<size_t>(end - start_);
  if (length_ == 0)
    return;
  int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0)
    fail("cannot open ", path, ": ", std::strerror(errno));
  // MAP_NORESERVE: the kernel must not count a 140 GB mapping against memory
  // that is never written.
  void *address = mmap(nullptr, length_, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_NORESERVE, file, start_);
  int error = errno;
  close(file);
  if (address == MAP_FAILED)
    fail("cannot map ", path, ": ", std::strerror(error));
  address_ = static_cast<char *>(address);
}

Mapping::~Mapping() {
  if (address_)
    munmap(address_, length_);
}

void Mapping::copyAndRelease(void *target, int64_t offset,
                             int64_t length) const {
  constexpr int64_t piece = int64_t{8} << 20;
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  for (int64_t done = 0; done < length; done += piece) {
    char *source = at(offset + done);
    int64_t bytes = std::min(piece, length - done);
    std::memcpy(static_cast<char *>(target) + done, source,
                static_cast<size_t>(bytes));
    // Whole pages inside the range only: the others hold bytes of neighbours.
    uintptr_t begin = (reinterpret_cast<uintptr_t>(source) + page - 1) / page;
    uintptr_t end = (reinterpret_cast<uintptr_t>(source) + bytes) / page;
    if (begin < end)
      madvise(reinterpret_cast<void *>(begin * page), (end - begin) * page,
              MADV_DONTNEED);
  }
}

int64_t hethub::runtime::fileSize(const std::string &path) {
  struct stat status;
  if (stat(path.c_str(), &status) != 0)
    fail("cannot open ", path, ": ", std::strerror(errno));
  if (!S_ISREG(status.st_mode))
    fail("must be a regular file: ", path);
  return status.st_size;
}
