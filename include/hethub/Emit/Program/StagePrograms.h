//===- StagePrograms.h - lowered programs as stage-program files -*- C++
//-*-===//

#ifndef HETHUB_EMIT_PROGRAM_STAGEPROGRAMS_H
#define HETHUB_EMIT_PROGRAM_STAGEPROGRAMS_H

#include "mlir/IR/BuiltinOps.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace hethub {
class StageProgram;
}

namespace hethub::emit {

/// What a whole-model statement of the plan adds to the IR: names for messages
/// and how axis 0 is split.
struct ModelInfo {
  std::string name;
  /// Size of axis 0 of the model's batched inputs; 0: inputs are not split.
  int64_t microbatchAxisSize = 0;
};

/// Builds one StageProgram (proto/hethub.proto) for each hh.program of the
/// module, in stage order, and gives all of them the hash of the whole plan.
/// Programs must be lowered: anything but aten.*, hh.* and constants is an
/// error at its location. Reports at the offending operation and returns
/// failure.
llvm::LogicalResult
buildStagePrograms(mlir::ModuleOp module, const ModelInfo &model,
                   std::vector<std::unique_ptr<StageProgram>> &programs);

/// The bytes of a program file: the program and its digest.
std::string serializeProgramFile(const StageProgram &program);

} // namespace hethub::emit

#endif // HETHUB_EMIT_PROGRAM_STAGEPROGRAMS_H
