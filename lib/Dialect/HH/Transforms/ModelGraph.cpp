//===- ModelGraph.cpp - a function as the planner sees it -----------------===//

#include "hethub/Dialect/HH/Transforms/ModelGraph.h"

#include "TensorParallel.h"

#include "hethub/Dialect/HH/IR/HHDialect.h"
#include "hethub/Support/Names.h"
#include "hethub/Support/OpenDims.h"

#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringMap.h"

#include <limits>

using namespace mlir;
using namespace hethub;
using namespace hethub::hh;

/// Program order, but clones right before their first reader: what is computed
/// at the top and read at the end would otherwise tie early stages to late
/// ones.
static std::vector<Operation *> planningOrder(Block &block, CloneRules &rules) {
  // Clones that only others of their kind or the outputs read keep their place.
  llvm::DenseSet<Operation *> attached;
  for (Operation &op : llvm::reverse(block)) {
    bool clone = rules.kind(&op) == CloneRules::Kind::Clone;
    if (op.hasTrait<OpTrait::IsTerminator>() ||
        (clone && !attached.contains(&op)))
      continue;
    for (Value value : readValues(&op))
      if (Operation *producer = value.getDefiningOp())
        if (rules.kind(producer) == CloneRules::Kind::Clone)
          attached.insert(producer);
  }
  std::vector<Operation *> order;
  llvm::DenseSet<Operation *> done;
  std::function<void(Operation *)> visit = [&](Operation *op) {
    if (!done.insert(op).second)
      return;
    for (Value value : readValues(op))
      if (Operation *producer = value.getDefiningOp())
        visit(producer);
    if (!isConstantLike(op))
      order.push_back(op);
  };
  for (Operation &op : block)
    if (!op.hasTrait<OpTrait::IsTerminator>() && !attached.contains(&op))
      visit(&op);
  return order;
}

/// A name that is never empty and never there twice.
static std::string uniqueName(Operation *op, llvm::StringMap<unsigned> &used) {
  std::string name = nodeName(op).str();
  if (name.empty())
    name = op->getName().stripDialect().str();
  std::string unique = name;
  while (!used.try_emplace(unique, 2).second)
    unique = name + "#" + std::to_string(used[name]++);
  return unique;
}

static FailureOr<planner::Node> makeNode(Operation *op, StringRef name,
                                         const cluster::Cluster &cluster,
                                         CloneRules &rules) {
  bool clone = rules.kind(op) == CloneRules::Kind::Clone;
  planner::Node node;
  node.name = name;
  node.scope = scopeOf(op->getLoc()).str();
  auto cost = op->getAttrOfType<CostAttr>(costAttrName);
  if (!cost)
    return op->emitError("operation must have a cost (hh-annotate-cost): ")
           << name;
  for (const cluster::DeviceType &type : cluster.types) {
    auto seconds =
        dyn_cast_or_null<DenseF64ArrayAttr>(cost.getSeconds().get(type.name));
    node.forwardSeconds.push_back(
        seconds ? seconds[0] : std::numeric_limits<double>::infinity());
    node.backwardSeconds.push_back(
        seconds ? seconds[1] : std::numeric_limits<double>::infinity());
    node.weightSeconds.push_back(seconds && seconds.size() > 2 ? seconds[2]
                                                               : 0);
    // Views cost next to nothing.
    if (clone)
      node.cloneSeconds.push_back(0);
  }
  if (llvm::all_of(node.forwardSeconds,
                   [](double seconds) { return !std::isfinite(seconds); }))
    return op->emitError("no device type of the cluster runs operation: ")
           << name;
  node.activationBytes = cost.getKept();
  for (Value value : readValues(op))
    // Parameters count as such.
    if (!value.getDefiningOp() || !(isConstantLike(value.getDefiningOp()) ||
                                    isa<GetParameterOp>(value.getDefiningOp())))
      node.workspaceBytes += byteSize(typicalType(value));
  for (Value result : op->getResults())
    node.workspaceBytes += byteSize(typicalType(result));
  return node;
}

/// Parameters, each with the nodes whose stages must hold it. Clones need none
/// of their own: they stand with readers.
static void addParameters(ModelGraph &model, CloneRules &rules) {
  auto module = model.ops.empty()
                    ? ModuleOp()
                    : model.ops.front()->getParentOfType<ModuleOp>();
  llvm::DenseSet<Operation *> readByNode;
  for (Operation *op : llvm::reverse(model.ops))
    if (rules.kind(op) != CloneRules::Kind::Clone || readByNode.contains(op))
      for (Value value : readValues(op))
        if (Operation *producer = value.getDefiningOp())
          readByNode.insert(producer);
  llvm::MapVector<StringAttr, std::vector<unsigned>> users;
  for (auto [index, op] : llvm::enumerate(model.ops))
    if (rules.kind(op) != CloneRules::Kind::Clone || !readByNode.contains(op))
      for (StringAttr name : rules.parameters(op))
        users[name].push_back(index);
  for (auto &[name, nodes] : users) {
    auto parameter = module.lookupSymbol<ParameterOp>(name);
    int64_t bytes = parameter ? byteSize(parameter.getType()) : 0;
    const bool frozen = parameter && parameter->hasAttr(frozenAttrName);
    if (nodes.size() > 1) {
      model.graph.sharedParameters.push_back(
          {name.str(), bytes, nodes, frozen});
      continue;
    }
    planner::Node &node = model.graph.nodes[nodes.front()];
    node.parameterBytes += bytes;
    node.frozenBytes += frozen ? bytes : 0;
  }
}

FailureOr<ModelGraph> hh::buildModelGraph(func::FuncOp function,
                                          const cluster::Cluster &cluster,
                                          CloneRules &rules,
                                          bool attachClones) {
  if (failed(requireFixedDims(function)))
    return failure();
  ModelGraph model;
  model.ops = planningOrder(function.getBody().front(), rules);
  llvm::StringMap<unsigned> usedNames;
  llvm::DenseMap<Operation *, unsigned> indexOf;
  for (auto [index, op] : llvm::enumerate(model.ops)) {
    indexOf[op] = index;
    FailureOr<planner::Node> node =
        makeNode(op, uniqueName(op, usedNames), cluster, rules);
    if (failed(node))
      return failure();
    model.graph.nodes.push_back(std::move(*node));
  }

  // A reader of a clone also reads what the clone is made from: that is what
  // crosses a border.
  llvm::MapVector<Value, llvm::SetVector<unsigned>> readers;
  llvm::EquivalenceClasses<unsigned> groups;
  llvm::DenseSet<Operation *> placed;
  for (auto [index, op] : llvm::enumerate(model.ops))
    for (Value value : readValues(op)) {
      Operation *producer = value.getDefiningOp();
      if (!producer || isConstantLike(producer))
        continue;
      readers[value].insert(index);
      for (Value source : rules.sources(value))
        if (source.getDefiningOp())
          readers[source].insert(index);
      if (attachClones && rules.kind(producer) == CloneRules::Kind::Clone &&
          placed.insert(producer).second)
        groups.unionSets(indexOf[producer], index);
    }
  for (auto &[value, consumers] : readers) {
    planner::Tensor tensor;
    tensor.name = valueName(value);
    tensor.producer = indexOf[value.getDefiningOp()];
    tensor.consumers.assign(consumers.begin(), consumers.end());
    tensor.bytes = byteSize(typicalType(value));
    tensor.cuttable =
        isSendable(value.getType()) ||
        rules.kind(value.getDefiningOp()) == CloneRules::Kind::Clone;
    model.graph.tensors.push_back(std::move(tensor));
  }
  for (auto [index, node] : llvm::enumerate(model.graph.nodes))
    if (groups.contains(index))
      node.group = groups.getLeaderValue(index);
  addParameters(model, rules);
  markTensorParallel(model, rules);
  return model;
}
