//===- CloneRules.cpp - what is copied between stages, not sent -----------===//

#include "hethub/Dialect/HH/Transforms/CloneRules.h"

#include "hethub/Dialect/HH/IR/Dependence.h"
#include "hethub/Dialect/HH/IR/HHDialect.h"

#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace hethub::hh;

bool hethub::hh::isViewLike(Operation *op) {
  static const llvm::StringSet<> names{
      "onnx.Reshape",   "onnx.Transpose", "onnx.Squeeze",
      "onnx.Unsqueeze", "onnx.Flatten",   "onnx.Identity",
      "onnx.Expand",    "onnx.Slice",     "onnx.Split"};
  return names.contains(op->getName().getStringRef());
}

bool hethub::hh::isConstantLike(Operation *op) {
  return isa<GetParameterOp>(op) || op->hasTrait<OpTrait::ConstantLike>() ||
         op->getName().getStringRef() == "onnx.Constant" || isa<ConstantOp>(op);
}

bool hethub::hh::isSendable(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor)
    return false;
  Type element = tensor.getElementType();
  return element.isIntOrFloat() || isa<ComplexType>(element);
}

llvm::SetVector<Value> hethub::hh::readValues(Operation *op) {
  llvm::SetVector<Value> values(op->operand_begin(), op->operand_end());
  if (op->getNumRegions())
    getUsedValuesDefinedAbove(op->getRegions(), values);
  return values;
}

CloneRules::CloneRules(func::FuncOp function) {
  addComputedFrom(
      function.getBody().front(), isConstantLike,
      [](Operation *) { return true; }, ofParameters);
  for (Operation &op : function.getBody().front())
    if (!op.hasTrait<OpTrait::IsTerminator>())
      kinds[&op] = judge(&op);
}

CloneRules::Kind CloneRules::judge(Operation *op) {
  if (op->getNumResults() > 0 && ofParameters.contains(op->getResult(0)))
    return Kind::Clone;
  if (!isViewLike(op) || !llvm::all_of(op->getOperandTypes(), isSendable) ||
      !llvm::all_of(op->getResultTypes(), isSendable))
    return Kind::Node;
  int64_t sourceBytes = 0, bytes = 0;
  for (Value operand : op->getOperands())
    for (Value source : sources(operand))
      // Model inputs are fed where they are used: no channel carries them.
      if (source.getDefiningOp())
        sourceBytes += byteSize(source.getType());
  for (Type type : op->getResultTypes())
    bytes += byteSize(type);
  return 2 * bytes <= sourceBytes ? Kind::Shrinking : Kind::Clone;
}

const llvm::SetVector<Value> &CloneRules::sources(Value value) {
  auto found = sourcesOf.find(value);
  if (found != sourcesOf.end())
    return found->second;
  llvm::SetVector<Value> result;
  Operation *op = value.getDefiningOp();
  if (!op || kind(op) != Kind::Clone)
    result.insert(value);
  else
    for (Value read : readValues(op))
      result.insert_range(sources(read));
  return sourcesOf[value] = std::move(result);
}

llvm::SetVector<StringAttr> CloneRules::parameters(Operation *reader) {
  llvm::SetVector<StringAttr> result;
  SmallVector<Operation *> work = {reader};
  llvm::DenseSet<Operation *> seen;
  while (!work.empty()) {
    Operation *op = work.pop_back_val();
    if (!seen.insert(op).second)
      continue;
    op->walk([&](GetParameterOp get) {
      result.insert(get.getParameterAttr().getAttr());
    });
    for (Value value : readValues(op))
      if (Operation *producer = value.getDefiningOp())
        if (kind(producer) == Kind::Clone)
          work.push_back(producer);
  }
  return result;
}
