//===- CostInterface.h - what an operation costs ---------------*- C++ -*-===//

#ifndef HETHUB_DIALECT_HH_IR_COSTINTERFACE_H
#define HETHUB_DIALECT_HH_IR_COSTINTERFACE_H

#include "mlir/IR/OpDefinition.h"
#include <cstdint>

namespace hethub::hh {

/// Classes of operations that reach a similar share of a device's peak: the key
/// of efficiency tables.
enum class OpClass {
  View,        ///< no data moves: Reshape, Squeeze, Transpose without a copy
  Elementwise, ///< one pass over memory
  Reduction,
  Normalization,
  MatMul,
  Convolution,
  Attention,
  Gather, ///< data-dependent memory access
  Recurrent,
  Other,
};

/// Work of one execution of an operation. A multiply-add counts as two FLOPs.
struct OpWork {
  OpClass opClass = OpClass::Other;
  double forwardFlops = 0;
  double backwardFlops = 0;
  /// Bytes read and written by the forward pass when nothing stays in cache.
  int64_t movedBytes = 0;
  /// Bytes that must be kept for the backward pass.
  int64_t keptBytes = 0;
  /// Bytes of the parameters that the operation reads.
  int64_t parameterBytes = 0;
};

} // namespace hethub::hh

#include "hethub/Dialect/HH/IR/CostInterface.h.inc"

#endif // HETHUB_DIALECT_HH_IR_COSTINTERFACE_H
