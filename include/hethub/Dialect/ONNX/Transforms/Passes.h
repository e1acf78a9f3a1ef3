//===- Passes.h - passes of the onnx dialect -------------------*- C++ -*-===//

#ifndef HETHUB_DIALECT_ONNX_TRANSFORMS_PASSES_H
#define HETHUB_DIALECT_ONNX_TRANSFORMS_PASSES_H

#include "mlir/Pass/Pass.h"

namespace hethub::ox {

#define GEN_PASS_DECL
#include "hethub/Dialect/ONNX/Transforms/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "hethub/Dialect/ONNX/Transforms/Passes.h.inc"

} // namespace hethub::ox

#endif // HETHUB_DIALECT_ONNX_TRANSFORMS_PASSES_H
