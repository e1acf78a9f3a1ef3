// Ranks that are threads of one process.
#pragma once

#include "hethub/runtime/Comm.h"

namespace hethub::runtime {

/// Shared by all ranks of a run; each rank takes its Comm from it.
class LoopbackHub {
public:
  LoopbackHub(int size, double timeoutS);
  ~LoopbackHub();

  std::unique_ptr<Comm> comm(int rank);
  /// Ends all waits of all ranks.
  void abort(const std::string &reason);

  struct State;

private:
  std::shared_ptr<State> state_;
};

/// The wait of a rank that was ended because another rank failed.
class AbortedError : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

} // namespace hethub::runtime
