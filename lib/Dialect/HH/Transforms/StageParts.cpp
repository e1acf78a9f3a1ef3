//===- StageParts.cpp - the programs of each stage ------------------------===//

#include "hethub/Dialect/HH/Transforms/StageParts.h"

#include <map>

using namespace mlir;
using namespace hethub::hh;

SmallVector<ProgramOp, 3> StageParts::programs() const {
  SmallVector<ProgramOp, 3> all;
  for (ProgramOp part : {forward, backward, weight})
    if (part)
      all.push_back(part);
  return all;
}

FailureOr<std::vector<StageParts>> hethub::hh::readStages(ModuleOp module) {
  std::map<int64_t, StageParts> found;
  for (auto program : module.getOps<ProgramOp>()) {
    StageParts &stage = found[program.getStage()];
    StringRef part = program.getPart().value_or("");
    ProgramOp &place = part == "backward" ? stage.backward
                       : part == "weight" ? stage.weight
                                          : stage.forward;
    if (place)
      return program.emitError("each stage must have one program of a part, "
                               "got two for stage ")
             << program.getStage();
    place = program;
  }
  if (found.empty())
    return module.emitError("module must hold programs "
                            "(hh-insert-communication)");
  std::vector<StageParts> stages;
  for (auto &[index, stage] : found) {
    if (index != static_cast<int64_t>(stages.size()))
      return stage.programs().front().emitError("stages must be numbered from "
                                                "0 without gaps, got: ")
             << index;
    if (!stage.forward)
      return stage.programs().front().emitError("each stage must have a "
                                                "forward program, got none "
                                                "for stage ")
             << index;
    stages.push_back(stage);
  }
  return stages;
}
