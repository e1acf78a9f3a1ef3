//===- EmitStage.cpp - one stage of a lowered module as text --------------===//

#include "EmitStage.h"

#include "hethub.pb.h"
#include "hethub/Emit/Cpp/CppEmitter.h"
#include "hethub/Emit/Program/StagePrograms.h"

using namespace mlir;
using namespace hethub;

LogicalResult emitStage(ModuleOp module, unsigned stage, bool cpp,
                        llvm::raw_ostream &os) {
  std::vector<std::unique_ptr<StageProgram>> programs;
  if (failed(emit::buildStagePrograms(module, {"model", 0}, programs)))
    return failure();
  if (stage >= programs.size())
    return module.emitError("stage must be below ")
           << programs.size() << ", got: " << stage;
  if (!cpp) {
    os << programs[stage]->DebugString();
    return success();
  }
  FailureOr<std::vector<hh::StageParts>> stages = hh::readStages(module);
  if (failed(stages))
    return failure();
  return emit::emitCpp((*stages)[stage], *programs[stage], os);
}
