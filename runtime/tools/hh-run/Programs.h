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

/// One of two ranks of a pipeline that sends a value of `bytes` for each
/// microbatch and beside that computes for about `workS` seconds, or not at
/// all.
PreparedStage probeStage(int rank, int64_t bytes, double workS);

/// Runs every case folder inside `folder`; returns the number that failed.
int runSuite(const std::string &folder, const RunOptions &options);

} // namespace hethub::runtime
