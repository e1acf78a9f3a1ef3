//===- Lowering.cpp - what handlers use to lower one node -----------------===//

#include "Lowering.h"

#include "hethub/Dialect/HH/IR/HHDialect.h"

#include "mlir/IR/TypeUtilities.h"

using namespace mlir;

namespace hethub {

Lowering::Lowering(Operation *op, OpBuilder &builder)
    : CallBuilder(op->getLoc(), builder), node(op) {}

//===----------------------------------------------------------------------===//
// The node
//===----------------------------------------------------------------------===//

RankedTensorType Lowering::outType(unsigned output) const {
  return llvm::cast<RankedTensorType>(node.output(output).getType());
}

bool Lowering::wants(unsigned output) const {
  Value value = node.output(output);
  return value && !value.use_empty();
}

int64_t Lowering::axis(StringRef name, int64_t fallback, int64_t rank) const {
  int64_t axis = node.integer(name, fallback);
  return axis < 0 ? axis + rank : axis;
}

void Lowering::replace(unsigned output, Value value) {
  Value old = node.output(output);
  if (!old)
    return;
  bool tensors =
      isa<TensorType>(old.getType()) && isa<TensorType>(value.getType());
  Type wanted = tensors ? element(old) : Type();
  if (tensors && isWideUnsigned(wanted) && element(value).isSignlessInteger())
    value =
        element(value).getIntOrFloatBitWidth() == wanted.getIntOrFloatBitWidth()
            ? bitcast(value, wanted)
            : this->cast(value, wanted);
  // Inference may know more, or less, of a shape than the calls tell.
  bool fits =
      tensors
          ? element(value) == wanted &&
                succeeded(verifyCompatibleShape(old.getType(), value.getType()))
          : !isa<RankedTensorType>(old.getType());
  bool isOpen = !tensors ||
                !llvm::cast<TensorType>(old.getType()).hasStaticShape() ||
                !llvm::cast<TensorType>(value.getType()).hasStaticShape();
  if (old.getType() != value.getType() && fits && isOpen) {
    value = hh::CastOp::create(builder, loc, old.getType(), value);
  } else if (old.getType() != value.getType()) {
    // The attributes and inputs of the node contradict each other.
    std::string message;
    llvm::raw_string_ostream(message)
        << "the result is " << value.getType() << ", where the model has "
        << old.getType();
    (void)refuse(message);
    return;
  }
  old.replaceAllUsesWith(value);
}

Value Lowering::asSigned(Value x) {
  if (!isWideUnsigned(element(x)))
    return x;
  return bitcast(x, builder.getIntegerType(element(x).getIntOrFloatBitWidth()));
}

Value Lowering::widen(Value x) {
  if (!isWideUnsigned(element(x)))
    return x;
  unsigned bits = element(x).getIntOrFloatBitWidth();
  return bits == 64 ? asSigned(x)
                    : this->cast(x, builder.getIntegerType(2 * bits));
}

LogicalResult Lowering::refuse(const Twine &reason) {
  refusal = reason.str();
  return failure();
}

} // namespace hethub
