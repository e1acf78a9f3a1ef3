//===- Evaluate.h - operators on small constant tensors --------*- C++ -*-===//

#ifndef HETHUB_LIB_DIALECT_ONNX_TRANSFORMS_EVALUATE_H
#define HETHUB_LIB_DIALECT_ONNX_TRANSFORMS_EVALUATE_H

#include "hethub/Dialect/ONNX/IR/Node.h"

#include "mlir/IR/BuiltinAttributes.h"

#include <optional>
#include <string>
#include <vector>

namespace hethub::ox {

/// A small tensor in one of two forms: integers and bools as int64, floats as
/// double. Both hold every value of the narrower types; results are rounded
/// when they become attributes again.
struct SmallTensor {
  mlir::Type element;
  llvm::SmallVector<int64_t> shape;
  std::vector<int64_t> ints;
  std::vector<double> reals;

  bool isReal() const { return llvm::isa<mlir::FloatType>(element); }
  int64_t rank() const { return static_cast<int64_t>(shape.size()); }
  int64_t size() const {
    return static_cast<int64_t>(isReal() ? reals.size() : ints.size());
  }
  /// The elements at `indices`, as a tensor of another shape.
  SmallTensor take(llvm::ArrayRef<int64_t> newShape,
                   llvm::ArrayRef<int64_t> indices) const;
  /// The same elements in another shape.
  SmallTensor reshaped(llvm::ArrayRef<int64_t> newShape) const;
};

/// What an evaluator gets: inputs by position (null where left out) and the
/// element types of the results.
struct Evaluation {
  const Node &node;
  llvm::ArrayRef<const SmallTensor *> inputs;
  llvm::SmallVector<mlir::Type> elements;
  int64_t maxElements;
  llvm::SmallVector<SmallTensor> results;

  const SmallTensor *input(size_t index) const {
    return index < inputs.size() ? inputs[index] : nullptr;
  }
};

/// False where the operator cannot be evaluated in this form or its result
/// would be too large.
using Evaluator = bool (*)(Evaluation &);

Evaluator findArithmeticEvaluator(llvm::StringRef opType);
Evaluator findMovementEvaluator(llvm::StringRef opType);
Evaluator findReductionEvaluator(llvm::StringRef opType);

/// Nothing for element types that have no small form (strings, complex numbers,
/// elements of less than a byte) and for tensors of more than `maxElements`.
std::optional<SmallTensor> toSmallTensor(mlir::DenseElementsAttr value,
                                         int64_t maxElements);
mlir::DenseElementsAttr toAttribute(const SmallTensor &tensor);
/// True for the element types that have a small form.
bool hasSmallForm(mlir::Type element);

/// The result of evaluating `node` on constants, one attribute a result; empty
/// where that is not possible.
llvm::SmallVector<mlir::DenseElementsAttr> evaluate(const Node &node,
                                                    int64_t maxElements);

//===----------------------------------------------------------------------===//
// Shared by the evaluators
//===----------------------------------------------------------------------===//

/// Product of sizes; nothing above `limit`.
std::optional<int64_t> countElements(llvm::ArrayRef<int64_t> shape,
                                     int64_t limit);
/// The broadcast of two shapes, or false.
bool broadcastShapes(llvm::ArrayRef<int64_t> a, llvm::ArrayRef<int64_t> b,
                     llvm::SmallVectorImpl<int64_t> &result);
/// For each element of `shape`, in order, the index of the element of a tensor
/// of shape `source` that is broadcast to it.
llvm::SmallVector<int64_t> broadcastIndices(llvm::ArrayRef<int64_t> source,
                                            llvm::ArrayRef<int64_t> shape);
/// Elements between two neighbours along each axis.
llvm::SmallVector<int64_t> stridesOf(llvm::ArrayRef<int64_t> shape);
/// `axis` in 0 to rank - 1, or -1 where it is out of range.
int64_t normalizeAxis(int64_t axis, int64_t rank);

} // namespace hethub::ox

#endif // HETHUB_LIB_DIALECT_ONNX_TRANSFORMS_EVALUATE_H
