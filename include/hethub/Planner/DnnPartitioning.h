// Reads the JSON instances of msr-fiddle/dnn-partitioning (NeurIPS 2020).
#ifndef HETHUB_PLANNER_DNNPARTITIONING_H
#define HETHUB_PLANNER_DNNPARTITIONING_H

#include "hethub/Planner/Placement.h"

namespace hethub::planner {

/// Two classes: "acc", with the file's memory limit, and "cpu", which has no
/// limit and pays no transfers. Errors name file, node or edge, field and
/// value.
llvm::Expected<PlacementProblem> readDnnPartitioning(llvm::StringRef text,
                                                     llvm::StringRef fileName);

} // namespace hethub::planner

#endif
