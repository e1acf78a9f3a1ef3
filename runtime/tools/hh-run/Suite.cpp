// Many cases in one process: LibTorch is loaded once. A case is a folder with
// stage_K/program.pb and inputs.npz.
#include "Programs.h"
#include "hethub/runtime/Error.h"
#include "hethub/runtime/Executor.h"
#include "io/FileWriter.h"
#include "program/ProgramFile.h"
#include "program/Specification.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>

using namespace hethub::runtime;
namespace fs = std::filesystem;

std::string hethub::runtime::programPath(const std::string &path, int stage) {
  if (!fs::is_directory(path))
    return path;
  return (fs::path(path) / ("stage_" + std::to_string(stage)) / "program.pb")
      .string();
}

std::string hethub::runtime::manifestBeside(const std::string &program) {
  fs::path manifest = fs::path(program).parent_path() / "weights.json";
  return fs::exists(manifest) ? manifest.string() : "";
}

PreparedStage hethub::runtime::prepareProgram(const std::string &path,
                                              const std::string &weights) {
  auto program =
      std::make_shared<const hethub::StageProgram>(readProgramFile(path));
  return {specificationOf(*program), loaderOf(program),
          weights.empty() ? manifestBeside(path) : weights};
}

RankProgram hethub::runtime::prepareRank(const std::string &path, int rank,
                                         const std::string &weights) {
  // In a folder the rank's stages are known only from a program: that of stage
  // 0 lists them all.
  bool isFolder = fs::is_directory(path);
  PreparedStage first = prepareProgram(programPath(path, 0), weights);
  std::vector<Place> places = placesOf(first.spec, rank);
  bool isOfRank =
      std::any_of(places.begin(), places.end(), [&](const Place &place) {
        return place.stage == first.spec.stage;
      });
  // Where it is another one's, the user is told which one it should be.
  if (isFolder ? places.empty() : places.size() < 2 || !isOfRank)
    return {first};
  std::string folder =
      isFolder ? path : fs::absolute(path).parent_path().parent_path().string();
  RankProgram program;
  for (const Place &place : places)
    program.push_back(
        place.stage == first.spec.stage
            ? first
            : prepareProgram(programPath(folder, place.stage), weights));
  return program;
}

std::vector<PreparedStage>
hethub::runtime::prepareFolder(const std::string &folder) {
  if (!fs::is_directory(folder))
    fail("must be a folder with stage_0/program.pb in it: ", folder);
  std::vector<PreparedStage> stages{prepareProgram(programPath(folder, 0), "")};
  for (int stage = 1; stage < static_cast<int>(stages[0].spec.stages.size());
       ++stage)
    stages.push_back(prepareProgram(programPath(folder, stage), ""));
  return stages;
}

namespace {
/// Empty, or why the case failed.
std::string runCase(const fs::path &folder, RunOptions options) {
  fs::path error = folder / "error.txt", outputs = folder / "outputs.npz";
  fs::remove(outputs);
  // Stays if the process dies in this case.
  writeFile(error.string(), "the process ended while this case ran\n");
  std::string message;
  try {
    if (fs::exists(folder / "inputs.npz"))
      options.inputs = (folder / "inputs.npz").string();
    options.outputs = outputs.string();
    runTogether(prepareFolder(folder.string()), options);
    fs::remove(error);
    return "";
  } catch (const std::exception &caught) {
    message = messageOf(caught);
  }
  writeFile(error.string(), message + "\n");
  return message;
}
} // namespace

int hethub::runtime::runSuite(const std::string &folder,
                              const RunOptions &options) {
  if (!fs::is_directory(folder))
    fail("must be a folder of case folders: ", folder);
  std::vector<fs::path> cases;
  for (const fs::directory_entry &entry : fs::directory_iterator(folder))
    if (entry.is_directory())
      cases.push_back(entry.path());
  std::sort(cases.begin(), cases.end());
  auto begin = std::chrono::steady_clock::now();
  int failed = 0;
  for (const fs::path &path : cases) {
    std::string reason = runCase(path, options);
    if (reason.empty())
      continue;
    ++failed;
    std::printf("failed %s: %s\n", path.filename().c_str(), reason.c_str());
  }
  double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin)
          .count();
  std::printf("suite: cases=%zu ok=%zu failed=%d seconds=%.2f\n", cases.size(),
              cases.size() - static_cast<size_t>(failed), failed, seconds);
  return failed;
}
