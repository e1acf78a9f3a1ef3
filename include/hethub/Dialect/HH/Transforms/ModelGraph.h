//===- ModelGraph.h - a function as the planner sees it --------*- C++ -*-===//

#ifndef HETHUB_DIALECT_HH_TRANSFORMS_MODELGRAPH_H
#define HETHUB_DIALECT_HH_TRANSFORMS_MODELGRAPH_H

#include "hethub/Cluster/Cluster.h"
#include "hethub/Dialect/HH/Transforms/CloneRules.h"
#include "hethub/Planner/Graph.h"

namespace hethub::hh {

/// On hh.parameter, by hh-annotate-cost of a training step: it is not trained.
constexpr llvm::StringLiteral frozenAttrName = "hh.frozen";

/// The operations of @main in the order that is cut, and the planner's graph of
/// them: node k is operation k.
struct ModelGraph {
  std::vector<mlir::Operation *> ops;
  planner::Graph graph;
};

/// Fills the graph from the costs that hh-annotate-cost left. Order: that of
/// the program, except that operations of kind Clone stand right before their
/// first reader. With `attachClones` they also stay in its stage, so that a
/// search makes no stage of views; a user's stage map may place them freely.
/// Emits an error and fails where a cost is missing or depends on a dimension
/// that nobody fixed.
mlir::FailureOr<ModelGraph> buildModelGraph(mlir::func::FuncOp function,
                                            const cluster::Cluster &cluster,
                                            CloneRules &rules,
                                            bool attachClones);

} // namespace hethub::hh

#endif // HETHUB_DIALECT_HH_TRANSFORMS_MODELGRAPH_H
