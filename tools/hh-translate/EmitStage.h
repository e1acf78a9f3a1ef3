//===- EmitStage.h - one stage of a lowered module as text -----*- C++ -*-===//

#ifndef HETHUB_TOOLS_HH_TRANSLATE_EMITSTAGE_H
#define HETHUB_TOOLS_HH_TRANSLATE_EMITSTAGE_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/raw_ostream.h"

/// Writes main.cpp (`cpp`) or the program file as text of its message, for one
/// stage of a module of hh.programs.
llvm::LogicalResult emitStage(mlir::ModuleOp module, unsigned stage, bool cpp,
                              llvm::raw_ostream &os);

#endif // HETHUB_TOOLS_HH_TRANSLATE_EMITSTAGE_H
