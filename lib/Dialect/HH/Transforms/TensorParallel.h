//===- TensorParallel.h - what devices of a stage can share ----*- C++ -*-===//

#ifndef HETHUB_LIB_DIALECT_HH_TRANSFORMS_TENSORPARALLEL_H
#define HETHUB_LIB_DIALECT_HH_TRANSFORMS_TENSORPARALLEL_H

#include "hethub/Dialect/HH/Transforms/ModelGraph.h"

namespace hethub::hh {

/// Fills `Node::splits` and `Node::reduceBytes`: a matrix product of a whole
/// value with weights is divided by columns and leaves a divided value, which
/// other operations work on as it is, until a product divided by rows sums it
/// up (Shoeybi et al.: Megatron-LM, 2019). A look-up in a table of weights is
/// divided by rows of the table.
void markTensorParallel(ModelGraph &model, CloneRules &rules);

} // namespace hethub::hh

#endif // HETHUB_LIB_DIALECT_HH_TRANSFORMS_TENSORPARALLEL_H
