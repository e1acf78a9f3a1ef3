// plan.json: written for people and tools, read back when a user has changed
// it. Fields: docs/Planner.md.
#ifndef HETHUB_PLANNER_PLANFILE_H
#define HETHUB_PLANNER_PLANFILE_H

#include "hethub/Planner/Plan.h"
#include "llvm/Support/JSON.h"

namespace hethub::planner {

/// Equal plans give equal values.
llvm::json::Value planToJSON(const Graph &graph,
                             const cluster::Cluster &cluster, const Plan &plan);

/// The stage map of a plan file. Predicted figures in it are ignored:
/// `checkPlan` computes them. An error names the file and field.
llvm::Expected<std::vector<StageRequest>>
parseStageMap(llvm::StringRef text, llvm::StringRef fileName);

} // namespace hethub::planner

#endif
