// Folders of program files.
#pragma once

#include "hethub/runtime/Run.h"
#include "program/Interpreter.h"

#include <memory>
#include <string>
#include <vector>

namespace hethub::runtime {

/// The program file at `path`, with the manifest beside it unless `weights`
/// names another.
PreparedStage prepareProgram(const std::string &path,
                             const std::string &weights);

/// What `rank` runs of `path`: a program file, or the folder of all stages. The
/// other stages of an interleaved rank lie in the folders beside.
RankProgram prepareRank(const std::string &path, int rank,
                        const std::string &weights);

/// All stages of `folder`: stage_0/program.pb, stage_1/program.pb, ...
std::vector<PreparedStage> prepareFolder(const std::string &folder);

/// Where the program of `stage` lies: `path` itself, or a file inside it when
/// it is a folder.
std::string programPath(const std::string &path, int stage);

/// weights.json beside a program file; empty when there is none.
std::string manifestBeside(const std::string &program);

/// A pipeline of two ranks that sends a value for each microbatch.
struct ProbeOptions {
  int64_t bytes = 0;
  double workS = 0; ///< what both ranks compute for each; 0: nothing
  std::string kinds[2] = {"cpu", "cpu"}; ///< of sender and receiver
  bool viaHost = false;                  ///< as channels have them
  int64_t chunkBytes = 0;
};

/// One of its ranks.
PreparedStage probeStage(int rank, const ProbeOptions &options);

/// As one of all ranks, sums `bytes` over them; --repeats and --stats of the
/// options apply: "sum_s", the median.
int probeSum(int64_t bytes, const RunOptions &options);

/// Runs every case folder inside `folder`; returns the number that failed.
int runSuite(const std::string &folder, const RunOptions &options);

} // namespace hethub::runtime
