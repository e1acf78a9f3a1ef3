//===- Views.h - other looks at a value that is there anyway ---*- C++ -*-===//

#ifndef HETHUB_LIB_DIFFERENTIATE_VIEWS_H
#define HETHUB_LIB_DIFFERENTIATE_VIEWS_H

#include "mlir/IR/Value.h"

namespace hethub::differentiate {

/// The value whose elements `value` is another look at; null where the call
/// that makes it computes or copies.
mlir::Value viewedValue(mlir::Value value);

/// The value whose memory `value` lies in: through views, not through copies.
mlir::Value memoryOf(mlir::Value value);

/// True for a view of all elements: who keeps the viewed value keeps the view.
bool looksAtAll(mlir::Value value);

} // namespace hethub::differentiate

#endif // HETHUB_LIB_DIFFERENTIATE_VIEWS_H
