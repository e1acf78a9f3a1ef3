// Small stage programs for the tests, built as the compiler would.
#pragma once

#include "hethub.pb.h"

#include <filesystem>
#include <string>
#include <vector>

namespace hethub::runtime::test {

/// A folder that is removed at the end of the test.
class TemporaryFolder {
public:
  TemporaryFolder();
  ~TemporaryFolder();
  std::string operator/(const std::string &name) const {
    return (path_ / name).string();
  }
  const std::filesystem::path &path() const { return path_; }

private:
  std::filesystem::path path_;
};

inline TensorType tensorType(DType dtype, const std::vector<int64_t> &dims) {
  TensorType type;
  type.set_dtype(dtype);
  for (int64_t dim : dims)
    type.add_dims(dim);
  return type;
}

Argument value(int32_t number);
Argument none();
Argument integer(int64_t number);
Argument floating(double number);

void addCall(Function &function, const std::string &op,
             const std::vector<Argument> &arguments,
             const std::vector<int32_t> &results, int origin = -1);
void addPort(google::protobuf::RepeatedPtrField<Port> &ports, int32_t number,
             const std::string &name, const TensorType &type, int channel,
             int index);

/// A pipeline of `stages` stages: stage i computes x * 2 + (i + 1) on a 2x3
/// float; the model's input "x" is also sent straight to the last stage (a skip
/// connection), which adds it. `replicas` for each stage.
std::vector<StageProgram> pipeline(const std::vector<int> &replicas);

/// Writes stage_K/program.pb under `folder`.
void writePrograms(const std::vector<StageProgram> &programs,
                   const std::string &folder);

} // namespace hethub::runtime::test
