// NumPy's .npz files: reading (stored or deflated entries, .npy versions 1 to
// 3, zip64) and writing (stored).
#pragma once

#include <ATen/core/Tensor.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace hethub::runtime {

/// Type of an array in a file. Two-byte void ("V2") is bfloat16, as the
/// ml_dtypes package writes it; one-byte void ("V1") are bytes, which its users
/// know the meaning of.
struct ArrayHeader {
  at::ScalarType dtype;
  std::vector<int64_t> shape;
  bool fortranOrder = false;
  /// Strings ("U5"): the elements are UTF-32 characters, which stand in a last
  /// axis of `shape`.
  bool isText = false;
  size_t dataOffset = 0; ///< from the start of the .npy data
};

/// Parses the header of .npy data. Throws Error with `name` in it.
ArrayHeader parseNpyHeader(std::string_view data, const std::string &name);

/// The elements of an array in C order, where they lie in memory: at any
/// address, also one that is not aligned to its elements.
struct ArrayView {
  at::ScalarType dtype;
  std::vector<int64_t> shape;
  const char *data = nullptr;
  std::shared_ptr<const void> owner; ///< of the memory
};

class NpzReader {
public:
  explicit NpzReader(const std::string &path);
  ~NpzReader();

  std::vector<std::string> names() const;
  bool has(const std::string &name) const;
  /// The whole array, in C order. Throws Error that names the array.
  /// Strings come as numbers of the table of DynamicOps.h.
  at::Tensor read(const std::string &name) const;
  bool isText(const std::string &name) const;
  /// The same without reading it: a view of the file where the array is stored
  /// as it is (whose checksum is not verified then), else of a copy.
  ArrayView view(const std::string &name) const;

private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

struct NamedArray {
  NamedArray(std::string name, at::Tensor value, bool isText = false)
      : name(std::move(name)), value(std::move(value)), isText(isText) {}
  std::string name;
  at::Tensor value;
  bool isText; ///< numbers of strings (DynamicOps.h), written as the strings
};

/// Writes `path` by way of a file beside it that is then renamed: never half a
/// file.
void writeNpz(const std::string &path, const std::vector<NamedArray> &arrays);

/// The arrays that stand for a value: a tensor under its name; a sequence as
/// its length under NAME[] and its elements under NAME[0], NAME[1], ...; an
/// optional that holds nothing is not there.
void appendValue(std::vector<NamedArray> &arrays, const std::string &name,
                 const at::Tensor &value, bool isText);
/// The value that arrays of a file stand for, or an optional that holds
/// nothing.
at::Tensor readValue(const NpzReader &file, const std::string &name);

} // namespace hethub::runtime
