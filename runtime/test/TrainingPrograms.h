// Programs that train a small net, written by hand as the compiler would.
//
//   h_0 = x,  h_i+1 = tanh(h_i W_i + b_i),  loss = mean((h_n + h_1 - labels)^2)
//
// h_1 skips to the last stage; with `tied`, the last block has the weight of
// the first one.
#pragma once

#include "Programs.h"
#include "hethub/runtime/Run.h"

#include <ATen/core/Tensor.h>

#include <map>

namespace hethub::runtime::test {

struct Net {
  int blocks = 4;
  int64_t width = 5, batch = 3; ///< samples of one microbatch
  bool tied = true;

  std::string weight(int block) const;
  std::string bias(int block) const;
  std::map<std::string, at::Tensor> parameters(uint64_t seed) const;
  /// What LibTorch's autograd differentiates.
  at::Tensor loss(const std::map<std::string, at::Tensor> &parameters,
                  const at::Tensor &x, const at::Tensor &labels) const;
};

enum class Table { GPipe, OneForwardOneBackward, ZeroBubble };

struct NetPlan {
  std::vector<int> blocks;   ///< of each stage
  std::vector<int> replicas; ///< of each stage
  int microbatches = 6;
  Table table = Table::OneForwardOneBackward;
  int firstAhead =
      0; ///< forwards of stage 0 before its first backward, at least
  std::vector<int> firstRanks{}; ///< of each stage; empty: in order

  std::string label() const;
};

std::vector<StageProgram> trainingPrograms(const Net &net, const NetPlan &plan);

/// What a stage receives and sends around its functions, by channel.
struct Edges {
  std::vector<int> forwardIn, forwardOut, backwardIn, backwardOut;
};

/// The rows of a step for one stage: forwards run ahead as far as later stages
/// need it (`extra` more), weights follow their backwards, or all backwards.
void addTrainingRows(StageProgram &program, const NetPlan &plan,
                     const Edges &edges, int extra = 0);

/// Puts stages on ranks, of which several may have the same. The rows of a rank
/// are merged as one could run them; `seed` chooses among the ways to do so.
void interleave(std::vector<StageProgram> &programs,
                const std::vector<int> &firstRanks, uint64_t seed);

} // namespace hethub::runtime::test
