// Parameters of a stage by name, mapped from where they are: weights.json names
// file, offset, length, dtype and shape.
//
//   {"parameters": [{"name": "dense.weight", "file": "../model.onnx.data",
//   "offset": 4096, "length": 128,
//                    "dtype": "F32", "shape": [4, 8]}]}
//
// A relative file is relative to the manifest's folder. dtypes are those of
// safetensors. Nothing is read before it is used: tensors are views of private
// (copy-on-write) mappings.
#pragma once

#include <ATen/core/Tensor.h>

#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace hethub::runtime {

class WeightsFile {
public:
  /// Opens a manifest (weights.json), or a safetensors file when `path` ends in
  /// ".safetensors". Every entry is checked against the file that it names. An
  /// empty path stands for a stage without parameters. Throws Error: missing
  /// file, a range past the end of its file, a length that does not fit dtype
  /// and shape.
  explicit WeightsFile(const std::string &path, at::Device device = at::kCPU);
  /// The same of several stages of one rank. A parameter that several of them
  /// have is one tensor.
  explicit WeightsFile(const std::vector<std::string> &paths,
                       at::Device device = at::kCPU);
  ~WeightsFile();
  WeightsFile(const WeightsFile &) = delete;
  WeightsFile &operator=(const WeightsFile &) = delete;

  /// The parameter `name` on the stage's device; the same tensor each time, so
  /// that training may change it in place. Throws Error when it is missing or
  /// of another dtype or shape.
  at::Tensor get(const std::string &name, at::ScalarType dtype,
                 at::IntArrayRef shape);

  /// Where the stage computes: for operators that make tensors.
  at::Device device() const { return device_; }

  /// Bytes of all parameters in the manifest.
  int64_t totalBytes() const;

  std::vector<std::string> names() const;

private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
  at::Device device_;
};

/// Small constants, written in an emitted program as numbers: constantInts({2},
/// at::kLong, {3, -1}, device).
at::Tensor constantInts(at::IntArrayRef shape, at::ScalarType dtype,
                        std::initializer_list<int64_t> values,
                        at::Device device = at::kCPU);
at::Tensor constantFloats(at::IntArrayRef shape, at::ScalarType dtype,
                          std::initializer_list<double> values,
                          at::Device device = at::kCPU);
/// Any dtype from its bytes (little endian, row major, one byte per bool):
/// exact for every value, NaN payloads too.
at::Tensor constantBytes(at::IntArrayRef shape, at::ScalarType dtype,
                         std::string_view bytes, at::Device device = at::kCPU);

} // namespace hethub::runtime
