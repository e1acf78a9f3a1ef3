// Small messages beside the channels: rank 0 says which step is the last one,
// and hears from each rank what came of a step. Neither is waited for in the
// middle of a step.
#pragma once

#include "hethub/runtime/Comm.h"

#include <deque>
#include <optional>
#include <vector>

namespace hethub::runtime {

struct StepReport {
  std::vector<double> losses; ///< by microbatch; 0 where another rank has it
  double squares = 0;         ///< of the gradients
  bool wantsStop = false;
};

class StepTalk {
public:
  /// `host` carries CPU tensors between all ranks; null: there is one rank.
  StepTalk(Comm *host, int microbatches)
      : host_(host), microbatches_(microbatches) {}

  bool isFirstRank() const { return !host_ || host_->rank() == 0; }

  /// At the beginning of a step. `isLast` counts on rank 0.
  void begin(bool isLast);
  /// At its end. Returns whether it is the last one of the run.
  bool end(const StepReport &report);

  /// Rank 0: the sum of the reports of the oldest step that has not been
  /// collected, or nothing where only `keep` such steps are left.
  std::optional<StepReport> collect(size_t keep);
  /// Waits for what is under way.
  void finish();

private:
  struct Message {
    at::Tensor tensor;
    WorkPtr work;
  };
  void send(at::Tensor tensor, int peer, int tag);

  Comm *host_;
  int microbatches_;
  bool isLast_ = false;
  Message order_;
  std::deque<Message> sends_;
  std::deque<std::vector<Message>> reports_; ///< rank 0: by step, then by rank
};

} // namespace hethub::runtime
