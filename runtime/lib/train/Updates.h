// Parameters that forward gives new values of: running means of normalisations.
#pragma once

#include "Gradients.h"
#include "hethub/runtime/Weights.h"

namespace hethub::runtime {

class Updates {
public:
  /// All ranks must construct theirs at the same point.
  Updates(const StageSpec &spec, WeightsFile &weights,
          const Gradients::GroupOf &groupOf);

  /// Takes the new values among forward's outputs; the next forward reads them.
  void take(const Tensors &outputs);

  /// Replicas have seen other microbatches: makes their values equal, by the
  /// mean.
  void average();

  const std::vector<std::pair<std::string, at::Tensor>> &parameters() const {
    return parameters_;
  }

private:
  const StageSpec &spec_;
  std::vector<std::pair<std::string, at::Tensor>> parameters_;
  std::map<std::string, at::Tensor> byName_;
  Comm *group_ = nullptr; ///< of the replicas; null: there is one
};

} // namespace hethub::runtime
