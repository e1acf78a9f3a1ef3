//===- WeightShare.h - backward time that makes gradients ------*- C++ -*-===//

#ifndef HETHUB_LIB_DIALECT_HH_TRANSFORMS_WEIGHTSHARE_H
#define HETHUB_LIB_DIALECT_HH_TRANSFORMS_WEIGHTSHARE_H

#include "hethub/Dialect/HH/Transforms/CloneRules.h"

namespace hethub::hh {

/// The share of an operation's backward time that goes into gradients of
/// parameters, which a zero-bubble schedule can put off: half of a product with
/// a parameter, which has one product of its size for each operand; all of a
/// look-up in a table. The sums that make gradients of biases and scales are
/// small beside what they come with.
double weightShare(mlir::Operation *op, CloneRules &rules);

} // namespace hethub::hh

#endif // HETHUB_LIB_DIALECT_HH_TRANSFORMS_WEIGHTSHARE_H
