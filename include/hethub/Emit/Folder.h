//===- Folder.h - the output folder of a compiled model --------*- C++ -*-===//

#ifndef HETHUB_EMIT_FOLDER_H
#define HETHUB_EMIT_FOLDER_H

#include "hethub/Emit/Program/StagePrograms.h"

#include "mlir/IR/BuiltinOps.h"

namespace hethub::emit {

struct FolderOptions {
  bool programs = true; ///< stage_K/program.pb
  bool cpp = true;      ///< stage_K/main.cpp and CMakeLists.txt
  bool packWeights =
      false; ///< stage_K/weights.safetensors holds all parameters
};

/// Writes `folder`/plan.json alone, from the module's hh.plan.
llvm::LogicalResult writePlan(mlir::ModuleOp module, llvm::StringRef folder);

/// Writes plan.json, schedule.json and, for each stage, stage_K/ with its
/// programs and its weights manifest. All text is made before the first file is
/// written; when a write fails, everything written so far is removed.
llvm::LogicalResult writeFolder(mlir::ModuleOp module, const ModelInfo &model,
                                llvm::StringRef folder,
                                const FolderOptions &options);

} // namespace hethub::emit

#endif // HETHUB_EMIT_FOLDER_H
