//===- Layout.h - the same bits wherever a model is cut --------*- C++ -*-===//

#ifndef HETHUB_LIB_CONVERSION_ONNXTOATEN_LAYOUT_H
#define HETHUB_LIB_CONVERSION_ONNXTOATEN_LAYOUT_H

#include "Lowering.h"

namespace hethub {

/// Gives calls whose bits depend on the strides of their operands contiguous
/// ones.
void makeLayoutIndependent(mlir::Region &region);

} // namespace hethub

#endif // HETHUB_LIB_CONVERSION_ONNXTOATEN_LAYOUT_H
