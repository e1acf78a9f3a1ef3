//===- TrainingOutputs.h - what a forward program still gives --*- C++ -*-===//

#ifndef HETHUB_LIB_DIFFERENTIATE_TRAININGOUTPUTS_H
#define HETHUB_LIB_DIFFERENTIATE_TRAININGOUTPUTS_H

#include "hethub/Dialect/HH/IR/HHDialect.h"

namespace hethub::differentiate {

/// Keeps of the model's outputs the loss and new values of parameters, drops
/// what only others need, messages included, and numbers the channels that are
/// left. Emits an error and fails where there is not one loss, a scalar float.
llvm::LogicalResult keepTrainingOutputs(mlir::ModuleOp module,
                                        llvm::ArrayRef<hh::ProgramOp> stages);

} // namespace hethub::differentiate

#endif // HETHUB_LIB_DIFFERENTIATE_TRAININGOUTPUTS_H
