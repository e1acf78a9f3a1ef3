// Where a rank finds the others: the environment of torchrun, srun, `hethub
// run` or a plain shell.
#pragma once

#include <string>

namespace hethub::runtime {

struct Launch {
  int rank = 0;
  int size = 1;
  std::string address; ///< of the store
  int port = 0;
  bool agentStore =
      false; ///< torchrun's agent hosts the store: every rank is a client
  std::string
      runName; ///< tells runs (and restarts of one run) on the same store apart

  /// Whether this process serves the store, and so leaves last.
  bool hostsStore() const { return rank == 0 && !agentStore; }
};

/// Reads the environment. Without any of its variables: one rank of one. Throws
/// Error on a half-set or bad one.
Launch readLaunch();

/// First host of a Slurm node list such as "gpu[03-05,9],login1".
std::string firstSlurmHost(const std::string &list);

} // namespace hethub::runtime
