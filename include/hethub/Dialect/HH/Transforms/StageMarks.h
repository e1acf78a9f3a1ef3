//===- StageMarks.h - stages that a model file asks for --------*- C++ -*-===//

#ifndef HETHUB_DIALECT_HH_TRANSFORMS_STAGEMARKS_H
#define HETHUB_DIALECT_HH_TRANSFORMS_STAGEMARKS_H

#include "hethub/Dialect/HH/Transforms/ModelGraph.h"
#include "hethub/Planner/Planner.h"

namespace hethub::hh {

/// On an operation: the stage that the model's file wants for it.
constexpr llvm::StringLiteral stageMarkAttrName = "hh.wanted_stage";
/// On @main: what the file calls the devices of the stages.
constexpr llvm::StringLiteral deviceMarksAttrName = "hh.wanted_devices";

/// Whether some operation of @main has a mark.
bool hasStageMarks(mlir::func::FuncOp function);

/// The stage map of the marks. An operation without one stands where what it
/// reads is made. Devices that the file calls like device types of the cluster
/// are of that type; otherwise stages take the cluster's devices in order.
std::vector<planner::StageRequest>
stagesOfMarks(mlir::func::FuncOp function, const ModelGraph &model,
              const cluster::Cluster &cluster);

} // namespace hethub::hh

#endif // HETHUB_DIALECT_HH_TRANSFORMS_STAGEMARKS_H
