//===- TensorParallel.cpp - what devices of a stage can share -------------===//

#include "TensorParallel.h"

#include "hethub/Dialect/HH/IR/HHDialect.h"

#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace hethub;
using namespace hethub::hh;

namespace {
enum class Role {
  Product, ///< with weights
  LookUp,  ///< in a table of weights
  Other
};
} // namespace

/// Weights, or something made from them alone.
static bool isWeight(Value value, CloneRules &rules) {
  Operation *producer = value.getDefiningOp();
  return producer && (isConstantLike(producer) ||
                      (rules.kind(producer) == CloneRules::Kind::Clone &&
                       rules.sources(value).empty()));
}

static Role roleOf(Operation *op, CloneRules &rules) {
  Role role =
      llvm::StringSwitch<Role>(op->getName().stripDialect())
          .Cases({"MatMul", "Gemm", "MatMulInteger", "Conv"}, Role::Product)
          .Case("Gather", Role::LookUp)
          .Default(Role::Other);
  if (role == Role::LookUp && !isWeight(op->getOperand(0), rules))
    return Role::Other;
  if (role == Role::Product &&
      (op->getNumOperands() < 2 || (!isWeight(op->getOperand(0), rules) &&
                                    !isWeight(op->getOperand(1), rules))))
    return Role::Other;
  return role;
}

void hh::markTensorParallel(ModelGraph &model, CloneRules &rules) {
  llvm::DenseSet<Value> divided;
  for (auto [index, op] : llvm::enumerate(model.ops)) {
    planner::Node &node = model.graph.nodes[index];
    bool readsDivided = llvm::any_of(
        readValues(op), [&](Value value) { return divided.contains(value); });
    Role role = roleOf(op, rules);
    node.splits = readsDivided || role != Role::Other;
    bool sums = role == Role::LookUp || (role == Role::Product && readsDivided);
    if (sums)
      for (Type type : op->getResultTypes())
        node.reduceBytes += byteSize(type);
    else if (node.splits)
      divided.insert(op->result_begin(), op->result_end());
  }
}
