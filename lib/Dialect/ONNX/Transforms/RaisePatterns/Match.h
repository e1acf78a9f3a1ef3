//===- Match.h - how raising patterns look at a graph ----------*- C++ -*-===//
//
// Small questions about values and their producers, and builders of nodes with
// the model's names. Everything that a pattern removes must be read by the
// pattern alone; everything that it reads as a number must be an inline
// constant, since the values of parameters are not known to the compiler.
//===----------------------------------------------------------------------===//

#ifndef HETHUB_LIB_DIALECT_ONNX_TRANSFORMS_RAISEPATTERNS_MATCH_H
#define HETHUB_LIB_DIALECT_ONNX_TRANSFORMS_RAISEPATTERNS_MATCH_H

#include "hethub/Dialect/ONNX/IR/Node.h"

#include "mlir/IR/PatternMatch.h"

#include <optional>

namespace hethub::ox::raise {

using mlir::Operation;
using mlir::Type;
using mlir::Value;

//===----------------------------------------------------------------------===//
// Questions
//===----------------------------------------------------------------------===//

/// The operation that defines `value` as its first result, if it is of that
/// operator of the default domain; else null.
Operation *producer(Value value, llvm::StringRef opType);

/// `producer`, where nothing but one operand reads the value.
Operation *soleProducer(Value value, llvm::StringRef opType);

/// The number that an inline constant of one element holds.
std::optional<double> numberOf(Value value);

/// The number that every element of an inline constant has.
std::optional<double> splatOf(Value value);

/// True where `value` is that number as far as the element type can tell: a
/// relative 1e-5 for float and double, 4e-3 for the 16-bit types.
bool isNumber(Value value, double expected);
bool isClose(double value, double expected, Type elementType);

/// The integers of an inline constant of rank 0 or 1.
std::optional<llvm::SmallVector<int64_t>> integersOf(Value value);

/// The operand of a two-operand `op` that is not `value`; null where neither
/// is.
Value otherOperand(Operation *op, Value value);

/// Matches a commutative `op` in both orders: true once `match(a, b)` is.
bool eitherOrder(Operation *op, llvm::function_ref<bool(Value, Value)> match);

/// The type if it is a tensor with static shape, else null.
mlir::RankedTensorType staticType(Value value);

/// True for a ReduceMean that keeps its dimensions and runs over the last axes;
/// `axis` gets the first of them, not negative.
bool isTrailingMean(Operation *reduceMean, int64_t &axis);

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

/// A product of values and one number, whatever the order and nesting of the
/// multiplications that make it.
struct Product {
  double number = 1;
  llvm::SmallVector<Value> factors;
};

/// Takes apart Mul, and Div by a number, from `root` on. Inner products are
/// only taken apart where nothing else reads them.
Product productOf(Value root);

/// `value` without one multiplication or division by a number, which is put
/// into `number`; null where there is none. The type stays.
Value unscaledStep(Value value, double &number);
/// `value` without any of them.
Value unscaled(Value value, double &number);

//===----------------------------------------------------------------------===//
// Building
//===----------------------------------------------------------------------===//

/// A node at schema positions; null inputs are left out.
Operation *createNode(mlir::OpBuilder &builder, mlir::Location loc,
                      llvm::StringRef opType, llvm::ArrayRef<Value> inputs,
                      llvm::ArrayRef<mlir::NamedAttribute> attributes,
                      llvm::ArrayRef<Type> outputs);

/// A helper node beside `op`: named after it, with the same scope.
mlir::Location helperLoc(Operation *op, llvm::StringRef suffix);

Value createIntegers(mlir::OpBuilder &builder, mlir::Location loc,
                     llvm::ArrayRef<int64_t> values);

/// `value` with the shape of `type`, without a node where it has that already.
Value createReshape(mlir::OpBuilder &builder, mlir::Location loc, Value value,
                    mlir::RankedTensorType type);

/// Replaces `op` by a Reshape of `value` to its type, of its name.
void replaceWithReshape(mlir::PatternRewriter &rewriter, Operation *op,
                        Value value);

/// `value` with permuted dimensions, without a node for the identity.
Value createTranspose(mlir::OpBuilder &builder, mlir::Location loc, Value value,
                      llvm::ArrayRef<int64_t> permutation);

/// Replaces `op` (of one result) by a node of its name and type.
void replaceWithNode(mlir::PatternRewriter &rewriter, Operation *op,
                     llvm::StringRef opType, llvm::ArrayRef<Value> inputs,
                     llvm::ArrayRef<mlir::NamedAttribute> attributes);

//===----------------------------------------------------------------------===//
// Patterns
//===----------------------------------------------------------------------===//

/// A pattern that starts at the last node of the form it raises.
class RaisingPattern : public mlir::RewritePattern {
public:
  RaisingPattern(mlir::MLIRContext *context, llvm::StringRef root)
      : RewritePattern(root, /*benefit=*/1, context) {}
};

void addActivationPatterns(mlir::RewritePatternSet &patterns);
void addAttentionPatterns(mlir::RewritePatternSet &patterns);
void addLinearPatterns(mlir::RewritePatternSet &patterns);
void addNeutralPatterns(mlir::RewritePatternSet &patterns);
void addViewPatterns(mlir::RewritePatternSet &patterns);
void addNormalizationPatterns(mlir::RewritePatternSet &patterns);
void addGroupNormalizationPatterns(mlir::RewritePatternSet &patterns);
void addRotaryEmbeddingPatterns(mlir::RewritePatternSet &patterns);

} // namespace hethub::ox::raise

#endif // HETHUB_LIB_DIALECT_ONNX_TRANSFORMS_RAISEPATTERNS_MATCH_H
