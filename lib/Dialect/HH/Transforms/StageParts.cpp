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

double StageParts::backwardSeconds() const {
  ProgramOp stage = forward;
  auto seconds = stage->getAttrOfType<FloatAttr>(backwardSecondsAttrName);
  return backward && seconds ? seconds.getValueAsDouble() : 0;
}

double StageParts::weightSeconds() const {
  ProgramOp stage = forward;
  auto seconds = stage->getAttrOfType<FloatAttr>(weightSecondsAttrName);
  return weight && seconds ? seconds.getValueAsDouble() : 0;
}

SmallVector<std::pair<StringAttr, Type>> StageParts::gradients() const {
  SmallVector<std::pair<StringAttr, Type>> gradients;
  for (ProgramOp program : programs())
    for (auto [index, type] : llvm::enumerate(program.getResultTypes()))
      if (auto parameter = program.getResultAttrOfType<FlatSymbolRefAttr>(
              index, gradientAttrName))
        gradients.push_back({parameter.getAttr(), type});
  return gradients;
}

GradientStages hethub::hh::gradientStages(ArrayRef<StageParts> stages) {
  GradientStages found;
  for (auto [index, parts] : llvm::enumerate(stages))
    for (auto [parameter, type] : parts.gradients()) {
      std::vector<unsigned> &list = found[parameter];
      if (list.empty() || list.back() != index)
        list.push_back(index);
    }
  return found;
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
