// The model outputs of a run: kept per microbatch, joined along axis 0, written
// as .npz. With several ranks each writes a part file, OUTPUTS.rankN, whose
// keys are "INDEX/MICROBATCH/NAME" (INDEX: position among the model's outputs);
// when all are there, rank 0 joins them into OUTPUTS and removes them.
#pragma once

#include "hethub/runtime/Npz.h"
#include "hethub/runtime/Stage.h"

#include <map>
#include <mutex>

namespace hethub::runtime {

class Outputs {
public:
  /// Safe to call from the threads of several ranks.
  void add(const PortSpec &port, int microbatch, at::Tensor value);
  bool empty() const { return values_.empty(); }

  /// Joined over microbatches: scalars become one axis.
  std::vector<NamedArray> joined(bool positional) const;

  void writePart(const std::string &path) const;
  void readPart(const std::string &path);

private:
  struct Value {
    std::string name;
    bool isText = false;
    std::map<int, at::Tensor> microbatches;
  };
  std::map<int, Value> values_; ///< by position among the model's outputs
  std::mutex mutex_;
};

/// `path` for one rank, `path`.rankN for several.
std::string partName(const std::string &path, int rank, int size);

} // namespace hethub::runtime
