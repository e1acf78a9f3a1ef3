//===- Folder.cpp - the output folder of a compiled model -----------------===//

#include "hethub/Emit/Folder.h"

#include "hethub.pb.h"
#include "hethub/Dialect/HH/IR/HHDialect.h"
#include "hethub/Dialect/HH/Transforms/PlanRecord.h"
#include "hethub/Emit/Cpp/CppEmitter.h"
#include "hethub/Emit/Program/WeightsManifest.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"

using namespace mlir;

namespace hethub::emit {

namespace {

/// Files of a folder, all or none: what was written is removed unless commit()
/// is called.
class FolderWriter {
public:
  FolderWriter(Operation *at, StringRef root) : at(at), root(root.str()) {}
  ~FolderWriter() {
    for (const std::string &path : llvm::reverse(made))
      llvm::sys::fs::remove(path);
  }
  void commit() { made.clear(); }

  LogicalResult directory(const Twine &relative) {
    std::string path = (Twine(root) + "/" + relative).str();
    bool existed = llvm::sys::fs::exists(path);
    if (std::error_code error = llvm::sys::fs::create_directories(path))
      return at->emitError("cannot create ") << path << ": " << error.message();
    if (!existed)
      made.push_back(path);
    return success();
  }

  LogicalResult file(const Twine &relative, StringRef content) {
    std::string path = (Twine(root) + "/" + relative).str();
    made.push_back(path);
    std::error_code error;
    llvm::raw_fd_ostream os(path, error);
    if (!error) {
      os << content;
      os.close();
      error = os.error();
      os.clear_error();
    }
    if (error)
      return at->emitError("cannot write ") << path << ": " << error.message();
    return success();
  }

  /// Announces a file that somebody else writes.
  std::string expect(const Twine &relative) {
    made.push_back((Twine(root) + "/" + relative).str());
    return made.back();
  }

private:
  Operation *at;
  std::string root;
  std::vector<std::string> made;
};

struct StageText {
  std::string programFile, cpp, cmake;
  StringRef cppFile;
};

} // namespace

/// schedule.json: one object a row, rank by rank, fields as in
/// hethub.ScheduleRow.
static std::string
scheduleText(const std::vector<std::unique_ptr<StageProgram>> &programs) {
  llvm::json::Array rows, channels;
  std::vector<const ScheduleRow *> table;
  for (const auto &program : programs)
    for (const ScheduleRow &row : program->schedule().rows())
      table.push_back(&row);
  // Stages stand in the order of their ranks unless they are interleaved.
  const auto &stages = programs.front()->stages();
  if (stages[0].has_first_rank())
    llvm::stable_sort(table, [&](const ScheduleRow *a, const ScheduleRow *b) {
      auto rankOf = [&](const ScheduleRow *row) {
        return stages[row->stage()].first_rank() + row->replica();
      };
      return std::pair(rankOf(a), a->position()) <
             std::pair(rankOf(b), b->position());
    });
  for (const ScheduleRow *row : table)
    rows.push_back(llvm::json::Object{{"stage", row->stage()},
                                      {"replica", row->replica()},
                                      {"action", Action_Name(row->action())},
                                      {"microbatch", row->microbatch()},
                                      {"peer_stage", row->peer_stage()},
                                      {"peer_replica", row->peer_replica()},
                                      {"channel", row->channel()},
                                      {"bytes", row->bytes()}});
  for (const auto &program : programs)
    for (const Channel &channel : program->channels())
      if (channel.from_stage() == program->stage())
        channels.push_back(
            llvm::json::Object{{"id", channel.id()},
                               {"name", channel.name()},
                               {"from_stage", channel.from_stage()},
                               {"to_stage", channel.to_stage()},
                               {"bytes", channel.bytes()}});
  const Schedule &schedule = programs.front()->schedule();
  return llvm::formatv("{0:2}\n",
                       llvm::json::Value(llvm::json::Object{
                           {"per_microbatch", schedule.per_microbatch()},
                           {"microbatches", schedule.microbatches()},
                           {"channels", std::move(channels)},
                           {"rows", std::move(rows)}}))
      .str();
}

static LogicalResult addPlan(ModuleOp module, FolderWriter &writer) {
  auto plan = hh::planJSON(module);
  if (!plan)
    return module.emitError("module must hold an hh.plan: run hh-partition");
  return writer.file("plan.json", llvm::formatv("{0:2}\n", *plan).str());
}

LogicalResult writePlan(ModuleOp module, StringRef folder) {
  FolderWriter writer(module, folder);
  if (failed(writer.directory("")) || failed(addPlan(module, writer)))
    return failure();
  writer.commit();
  return success();
}

LogicalResult writeFolder(ModuleOp module, const ModelInfo &model,
                          StringRef folder, const FolderOptions &options) {
  std::vector<std::unique_ptr<StageProgram>> programs;
  if (failed(buildStagePrograms(module, model, programs)))
    return failure();
  FailureOr<std::vector<hh::StageParts>> stages = hh::readStages(module);
  if (failed(stages))
    return failure();

  std::vector<StageText> texts(programs.size());
  for (auto [text, program, stage] : llvm::zip(texts, programs, *stages)) {
    text.programFile = serializeProgramFile(*program);
    llvm::raw_string_ostream cpp(text.cpp), cmake(text.cmake);
    if (options.cpp && failed(emitCpp(stage, *program, cpp)))
      return failure();
    text.cppFile = cppFileName(*program);
    if (text.cppFile == "main.cpp")
      emitCMake(*program, cmake);
  }

  FolderWriter writer(module, folder);
  if (failed(writer.directory("")))
    return failure();
  if (hh::planJSON(module) && failed(addPlan(module, writer)))
    return failure();
  if (failed(writer.file("schedule.json", scheduleText(programs))))
    return failure();
  for (auto [index, text] : llvm::enumerate(texts)) {
    std::string stage = "stage_" + std::to_string(index);
    if (failed(writer.directory(stage)) ||
        (options.programs &&
         failed(writer.file(stage + "/program.pb", text.programFile))) ||
        (options.cpp &&
         failed(writer.file(stage + "/" + text.cppFile, text.cpp))) ||
        (options.cpp && !text.cmake.empty() &&
         failed(writer.file(stage + "/CMakeLists.txt", text.cmake))))
      return failure();
    writer.expect(stage + "/weights.json");
    writer.expect(stage + "/weights.safetensors");
    if (failed(writeWeights((*stages)[index], (folder + "/" + stage).str(),
                            options.packWeights)))
      return failure();
  }
  writer.commit();
  return success();
}

} // namespace hethub::emit
