//===- StagedModule.cpp - borders of a partitioned module -----------------===//

#include "Borders.h"

#include "hethub/Dialect/HH/IR/HHDialect.h"
#include "hethub/Dialect/HH/Transforms/CloneRules.h"
#include "hethub/Support/Names.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;

namespace hethub::split {

/// The stages in which values are made, by name. Of the operations that became
/// of one node the last one counts.
static llvm::StringMap<unsigned> stagesOfValues(func::FuncOp main) {
  llvm::StringMap<unsigned> result;
  for (auto stage : main.getOps<hh::StageOp>())
    for (Operation &op : stage.getBody().front())
      // Constants stand in each stage that reads them.
      if (!op.hasAttr(hh::cloneAttrName) && !hh::isConstantLike(&op))
        for (Value value : op.getResults())
          result[valueName(value)] = stage.getIndex();
  return result;
}

void cutAsStaged(ModelCut &cut, ModuleOp module) {
  auto main = module.lookupSymbol<func::FuncOp>("main");
  if (!main || main.getOps<hh::StageOp>().empty())
    import::fail("function @main must be partitioned (hh-partition)");
  cut.stageCount = llvm::range_size(main.getOps<hh::StageOp>());
  llvm::StringMap<unsigned> made = stagesOfValues(main);
  // What was folded or is a part of a raised operator stands where it is read
  // first.
  std::vector<unsigned> reader(cut.nodes.size(), cut.stageCount - 1);
  for (unsigned index = cut.nodes.size(); index-- > 0;) {
    CutNode &node = cut.nodes[index];
    node.stage = reader[index];
    for (const std::string &output : node.proto->output())
      if (auto found = made.find(output); found != made.end())
        node.stage = found->second;
    for (const std::string &name : node.reads)
      if (auto from = cut.producer.find(name); from != cut.producer.end())
        reader[from->second] = std::min(reader[from->second], node.stage);
  }
  // A value that was read for its shape alone may be made later.
  for (CutNode &node : cut.nodes)
    for (const std::string &name : node.reads)
      if (auto from = cut.producer.find(name);
          from != cut.producer.end() && !cut.nodes[from->second].constant)
        node.stage = std::max(node.stage, cut.nodes[from->second].stage);
}

} // namespace hethub::split
