//===- EmitStage.cpp - one stage of a lowered module as text --------------===//

#include "EmitStage.h"

#include "hethub.pb.h"
#include "hethub/Dialect/HH/IR/HHDialect.h"
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
  for (auto program : module.getOps<hh::ProgramOp>())
    if (program.getStage() == stage)
      return emit::emitCpp(program, *programs[stage], os);
  return failure();
}
