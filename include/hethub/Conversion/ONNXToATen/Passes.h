//===- Passes.h - from onnx operators to LibTorch calls --------*- C++ -*-===//

#ifndef HETHUB_CONVERSION_ONNXTOATEN_PASSES_H
#define HETHUB_CONVERSION_ONNXTOATEN_PASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace hethub {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "hethub/Conversion/ONNXToATen/Passes.h.inc"

} // namespace hethub

#endif // HETHUB_CONVERSION_ONNXTOATEN_PASSES_H
