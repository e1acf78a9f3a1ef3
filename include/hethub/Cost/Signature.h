//===- Signature.h - which operations take the same time -------*- C++ -*-===//

#ifndef HETHUB_COST_SIGNATURE_H
#define HETHUB_COST_SIGNATURE_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <string>

namespace hethub::cost {

/// Operator, attributes and types of an operation as one line of text, without
/// names or locations: operations of equal signature take the same time. Keys
/// of profile.json.
///
///   Gemm(64x256xf32, param 256x768xf32, param 768xf32) -> (64x768xf32) {transB
///   = 0 : i64} Pow(2x32x256xf32, 2.0) -> (2x32x256xf32)
///
/// Weights are marked `param`, inline constants `const`; a constant of one
/// element stands with its value, since kernels depend on it. Left-out operands
/// are `none`. Sub-graphs come in as a hash of the signatures inside.
std::string signatureOf(mlir::Operation *op);

/// The type that the operation computes in, by its name in cluster files:
/// "float32", "int8", ...
llvm::StringRef computedType(mlir::Operation *op);

/// A module with one function of one operation of this signature, its operands
/// being arguments; null where the text is no signature, or one with
/// sub-graphs. `op` gets the operation.
mlir::OwningOpRef<mlir::ModuleOp> parseSignature(llvm::StringRef signature,
                                                 mlir::MLIRContext *context,
                                                 mlir::Operation *&op);

} // namespace hethub::cost

#endif // HETHUB_COST_SIGNATURE_H
