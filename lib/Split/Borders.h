//===- Borders.h - where a model is cut ------------------------*- C++ -*-===//

#ifndef HETHUB_LIB_SPLIT_BORDERS_H
#define HETHUB_LIB_SPLIT_BORDERS_H

#include "ModelCut.h"
#include "hethub/Split/Split.h"

#include "llvm/Support/JSON.h"

namespace hethub::split {

// Each gives all nodes a stage, constant ones apart, and sets the number of
// stages. They throw ModelError.

/// Behind tensors: a stage is what makes the tensors of its border and no
/// earlier one's.
void cutAt(ModelCut &cut, const std::vector<std::string> &at);

/// Where the file says so.
void cutAsAnnotated(ModelCut &cut);
/// Names of the devices of the stages, where the file has them.
std::vector<std::string> annotatedDevices(const ModelCut &cut);

/// Where the stages of a partitioned @main are: those of the operations that
/// became of the nodes.
void cutAsStaged(ModelCut &cut, mlir::ModuleOp module);

/// The fastest stages for a cluster, or for equal devices. The result is the
/// plan as plan.json has it.
llvm::json::Value cutByPlan(ModelCut &cut, const Options &options,
                            mlir::MLIRContext *context);

/// Types of values that the ONNX library does not find but the importer does,
/// where it takes the model.
void addImportedTypes(ModelCut &cut, mlir::MLIRContext *context);

} // namespace hethub::split

#endif // HETHUB_LIB_SPLIT_BORDERS_H
