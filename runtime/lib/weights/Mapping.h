// A range of a file mapped into memory, private and writable.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

namespace hethub::runtime {

class Mapping {
public:
  /// Maps bytes [begin, end) of `path`; begin may be anywhere in a page.
  Mapping(const std::string &path, int64_t begin, int64_t end);
  ~Mapping();
  Mapping(const Mapping &) = delete;
  Mapping &operator=(const Mapping &) = delete;

  /// Address of byte `offset` of the file.
  char *at(int64_t offset) const { return address_ + (offset - start_); }

  /// Copies `length` bytes from byte `offset` of the file and lets go of the
  /// pages that were read, so that a copied weight is not resident twice.
  void copyAndRelease(void *target, int64_t offset, int64_t length) const;

private:
  char *address_ = nullptr;
  int64_t start_ = 0; ///< offset of the first mapped page
  size_t length_ = 0;
};

/// Size of the regular file `path`; throws Error when there is none.
int64_t fileSize(const std::string &path);

} // namespace hethub::runtime
