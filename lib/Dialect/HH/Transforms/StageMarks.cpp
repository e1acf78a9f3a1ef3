//===- StageMarks.cpp - stages that a model file asks for -----------------===//

#include "hethub/Dialect/HH/Transforms/StageMarks.h"

#include "hethub/Dialect/HH/Transforms/CloneRules.h"

using namespace mlir;
using namespace hethub;
using namespace hethub::hh;

static std::optional<unsigned> markOf(Operation *op) {
  auto mark = op->getAttrOfType<IntegerAttr>(stageMarkAttrName);
  return mark ? std::optional<unsigned>(mark.getInt()) : std::nullopt;
}

bool hh::hasStageMarks(func::FuncOp function) {
  return llvm::any_of(function.getOps(),
                      [](Operation &op) { return markOf(&op).has_value(); });
}

/// The device type of each stage.
static std::vector<std::string> typesOf(func::FuncOp function, unsigned stages,
                                        const cluster::Cluster &cluster) {
  std::vector<std::string> types;
  auto names = function->getAttrOfType<ArrayAttr>(deviceMarksAttrName);
  if (names && names.size() == stages)
    for (auto name : names.getAsRange<StringAttr>())
      types.push_back(name.str());
  bool known = types.size() == stages &&
               llvm::all_of(types, [&](const std::string &name) {
                 return cluster.find(name).has_value();
               });
  if (known)
    return types;
  types.clear();
  for (const cluster::DeviceType &type : cluster.types)
    for (unsigned device = 0; device < type.count && types.size() < stages;
         ++device)
      types.push_back(type.name);
  // Too few devices: checkPlan says so.
  while (types.size() < stages && !cluster.types.empty())
    types.push_back(cluster.types.back().name);
  return types;
}

std::vector<planner::StageRequest>
hh::stagesOfMarks(func::FuncOp function, const ModelGraph &model,
                  const cluster::Cluster &cluster) {
  llvm::DenseMap<Operation *, unsigned> stageOf;
  unsigned stages = 0;
  for (Operation *op : model.ops) {
    unsigned stage = 0;
    if (std::optional<unsigned> mark = markOf(op))
      stage = *mark;
    else
      for (Value value : readValues(op))
        if (Operation *producer = value.getDefiningOp())
          stage = std::max(stage, stageOf.lookup(producer));
    stageOf[op] = stage;
    stages = std::max(stages, stage + 1);
  }
  std::vector<planner::StageRequest> requests(stages);
  std::vector<std::string> types = typesOf(function, stages, cluster);
  for (auto [request, type] : llvm::zip(requests, types))
    request.deviceType = type;
  for (auto [op, node] : llvm::zip_equal(model.ops, model.graph.nodes))
    requests[stageOf.lookup(op)].nodes.push_back(node.name);
  return requests;
}
