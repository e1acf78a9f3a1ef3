//===- Names.h - the model's own names, kept in locations ------*- C++ -*-===//
//
// ONNX node and tensor names and exporter scopes travel as MLIR locations, so
// that plans, diagnostics, traces and emitted code speak in the model's names.
// The form is
//
//   loc("node name")                                         tensor name equals
//   node name, no scope loc("node name"(fused<["tensor", ...]>["scope"]))
//   everything else
//
// Canonicalisation and CSE keep or merge locations without knowing them, which
// attributes would not survive.
//===----------------------------------------------------------------------===//

#ifndef HETHUB_SUPPORT_NAMES_H
#define HETHUB_SUPPORT_NAMES_H

#include "mlir/IR/Location.h"
#include "mlir/IR/Operation.h"
#include "mlir/IR/Value.h"

namespace hethub {

/// Builds the location of a node. `results` are the tensor names it defines, ""
/// for an output left out; an empty `node` takes the first tensor name. `scope`
/// is the exporter's module path ("m.transformer.h.0"), or empty.
mlir::Location makeNodeLoc(mlir::MLIRContext *context, llvm::StringRef node,
                           llvm::ArrayRef<llvm::StringRef> results,
                           llvm::StringRef scope = "");

/// The model's name of the node that `op` came from; "" where it has none (made
/// by a pass without a location).
llvm::StringRef nodeName(mlir::Location loc);
llvm::StringRef nodeName(mlir::Operation *op);

/// The exporter scope of the node, or "".
llvm::StringRef scopeOf(mlir::Location loc);

/// The model's name of a tensor: its node's tensor name, a function argument's
/// `onnx.name`, a parameter's symbol; "" where nothing is known.
std::string valueName(mlir::Value value);

} // namespace hethub

#endif // HETHUB_SUPPORT_NAMES_H
