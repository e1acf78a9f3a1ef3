//===- Views.cpp - other looks at a value that is there anyway ------------===//

#include "Views.h"

#include "hethub/Dialect/ATen/Utils/CallBuilder.h"
#include "hethub/Dialect/HH/IR/HHDialect.h"

#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace hethub::differentiate {

/// Elements of the result lie as those of the operand do.
static const llvm::StringSet<> keepsOrder{"alias", "reshape", "squeeze",
                                          "unsqueeze", "view"};
/// Elements of the result lie apart or in another order.
static const llvm::StringSet<> changesStrides{
    "diagonal", "expand", "narrow",    "permute", "select",
    "slice",    "t",      "transpose", "unfold"};

/// The operand itself, as a rule: calls of it stand where its strides are not
/// known for certain.
static constexpr StringRef perhapsCopies = "contiguous";

static StringRef functionName(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op)
    return "";
  aten::CallView call(op);
  return call ? call.layout().name : "";
}

/// True where a reshape splits axes and moves ones, which any strides allow.
static bool splitsAxes(ArrayRef<int64_t> in, ArrayRef<int64_t> out) {
  size_t next = 0;
  for (int64_t size : in) {
    if (size == 1)
      continue;
    int64_t part = 1;
    while (next < out.size() && part < size)
      part *= out[next++];
    if (part != size)
      return false;
  }
  return true;
}

static bool isStrided(Value value) {
  StringRef name = functionName(value);
  if (changesStrides.contains(name))
    return true;
  return keepsOrder.contains(name) &&
         isStrided(value.getDefiningOp()->getOperand(0));
}

Value viewedValue(Value value) {
  StringRef name = functionName(value);
  if (!keepsOrder.contains(name) && !changesStrides.contains(name) &&
      name != perhapsCopies)
    return nullptr;
  Value source = value.getDefiningOp()->getOperand(0);
  // Where elements do not lie in order a reshape may have to copy them.
  if (name == "reshape" && isStrided(source) &&
      !splitsAxes(CallBuilder::dims(source), CallBuilder::dims(value)))
    return nullptr;
  return source;
}

Value memoryOf(Value value) {
  while (functionName(value) != perhapsCopies)
    if (Value viewed = viewedValue(value))
      value = viewed;
    else
      break;
  return value;
}

bool looksAtAll(Value value) {
  Value source = viewedValue(value);
  return source && functionName(value) != perhapsCopies &&
         hh::byteSize(value.getType()) >= hh::byteSize(source.getType());
}

} // namespace hethub::differentiate
