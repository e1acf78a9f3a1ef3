//===- Dependence.cpp - what is computed from what alone ------------------===//

#include "hethub/Dialect/HH/IR/Dependence.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

void hethub::hh::addComputedFrom(Block &block, OperationTest isSource,
                                 OperationTest counts,
                                 llvm::DenseSet<Value> &values) {
  auto readsMembersAlone = [&](Operation &op) {
    llvm::SetVector<Value> read(op.operand_begin(), op.operand_end());
    if (op.getNumRegions() > 0)
      getUsedValuesDefinedAbove(op.getRegions(), read);
    return llvm::all_of(read,
                        [&](Value value) { return values.contains(value); });
  };
  for (Operation &op : block)
    if (isSource(&op) ||
        (counts(&op) && isMemoryEffectFree(&op) && readsMembersAlone(op)))
      values.insert(op.result_begin(), op.result_end());
}
