//===- Node.h - an onnx operation as ONNX sees it --------------*- C++ -*-===//
//
// A view of any onnx.* operation by schema positions: inputs and outputs with
// their gaps, attributes and sub-graphs by name. Works for all operators alike
// and needs no operator header.
//===----------------------------------------------------------------------===//

#ifndef HETHUB_DIALECT_ONNX_IR_NODE_H
#define HETHUB_DIALECT_ONNX_IR_NODE_H

#include "hethub/Dialect/ONNX/IR/ONNXDialect.h"

namespace hethub::ox {

class Node {
public:
  explicit Node(mlir::Operation *op);

  mlir::Operation *operation() const { return op; }
  /// "MatMul"; for onnx.Custom the operator's own name.
  llvm::StringRef opType() const;
  /// "" for the default domain.
  llvm::StringRef domain() const;

  /// Number of input positions up to the last present one, gaps counted.
  unsigned inputCount() const { return inputs.size(); }
  /// The value at an input position; null for a gap or beyond the end.
  mlir::Value input(unsigned position) const {
    return position < inputs.size() ? inputs[position] : nullptr;
  }
  unsigned outputCount() const { return outputs.size(); }
  mlir::Value output(unsigned position) const {
    return position < outputs.size() ? outputs[position] : nullptr;
  }

  /// An attribute by its ONNX name; null where it is not set. Defaults are the
  /// caller's.
  mlir::Attribute attribute(llvm::StringRef name) const;
  int64_t integer(llvm::StringRef name, int64_t fallback) const;
  double real(llvm::StringRef name, double fallback) const;
  llvm::StringRef string(llvm::StringRef name, llvm::StringRef fallback) const;
  /// Empty where the attribute is not set.
  llvm::SmallVector<int64_t> integers(llvm::StringRef name) const;
  llvm::SmallVector<double> reals(llvm::StringRef name) const;
  /// The sub-graph of that attribute name; null where the operator has none.
  mlir::Region *subgraph(llvm::StringRef name) const;

private:
  mlir::Operation *op;
  llvm::SmallVector<mlir::Value, 4> inputs;
  llvm::SmallVector<mlir::Value, 2> outputs;
};

/// True for operations of the onnx dialect that are nodes (not onnx.Yield).
bool isNode(mlir::Operation *op);

/// The dense value of an onnx.Constant that defines `value`, or null.
mlir::ElementsAttr constantValue(mlir::Value value);

} // namespace hethub::ox

#endif // HETHUB_DIALECT_ONNX_IR_NODE_H
