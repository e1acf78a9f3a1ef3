//===- PlannedCut.cpp - the fastest borders -------------------------------===//
//
// What nodes cost is known of the model as it is compiled: imported, its sizes
// fixed, folded and raised. Those operations have the names of the nodes and
// values that they come from, so that their costs can be added up by node; a
// node whose work is done elsewhere or before the run costs nothing.
//===----------------------------------------------------------------------===//

#include "Borders.h"

#include "hethub/Cost/Passes.h"
#include "hethub/Dialect/HH/IR/HHDialect.h"
#include "hethub/Dialect/HH/Transforms/ClusterOps.h"
#include "hethub/Dialect/HH/Transforms/Passes.h"
#include "hethub/Dialect/ONNX/IR/Proto.h"
#include "hethub/Dialect/ONNX/Transforms/Passes.h"
#include "hethub/Import/Import.h"
#include "hethub/Pipelines/Pipelines.h"
#include "hethub/Planner/PlanFile.h"
#include "hethub/Planner/Planner.h"
#include "hethub/Support/Names.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using hethub::import::fail;
using onnx::TensorProto;

namespace hethub::split {

//===----------------------------------------------------------------------===//
// The model as it is compiled
//===----------------------------------------------------------------------===//

/// Runs `action`, and throws what it reported where it failed.
static void orThrow(MLIRContext *context, StringRef path, const char *hint,
                    llvm::function_ref<LogicalResult()> action) {
  std::string message;
  LogicalResult result = success();
  {
    ScopedDiagnosticHandler handler(context, [&](Diagnostic &diagnostic) {
      if (diagnostic.getSeverity() == DiagnosticSeverity::Error &&
          message.empty()) {
        StringRef name = nodeName(diagnostic.getLocation());
        message = (name.empty() ? "" : "node '" + name.str() + "': ") +
                  diagnostic.str();
        // The importer names the file, as our caller does.
        if (StringRef rest = message;
            rest.consume_front(path) && rest.consume_front(": "))
          message = rest.str();
      }
      return success();
    });
    result = action();
  }
  if (failed(result))
    fail(message + hint);
}

/// Dims that nobody fixed count as 1: costs want sizes.
static std::vector<std::string> sizesOf(ModuleOp module,
                                        const std::vector<std::string> &given) {
  std::vector<std::string> sizes = given;
  llvm::StringSet<> known;
  for (StringRef size : given)
    known.insert(size.rsplit('=').first);
  auto main = module.lookupSymbol<func::FuncOp>("main");
  for (BlockArgument input : main.getArguments()) {
    auto type = dyn_cast<RankedTensorType>(input.getType());
    if (!type)
      continue;
    auto dims =
        main.getArgAttrOfType<ArrayAttr>(input.getArgNumber(), "onnx.dims");
    for (auto [axis, size] : llvm::enumerate(type.getShape())) {
      if (!ShapedType::isDynamic(size))
        continue;
      std::string name =
          dims ? cast<StringAttr>(dims[axis]).str() : std::string();
      if (name.empty())
        name = valueName(input) + "[" + std::to_string(axis) + "]";
      if (known.insert(name).second)
        sizes.push_back(name + "=1");
    }
  }
  return sizes;
}

/// As the file has them: sizes that costs are for are no part of them.
static void addTypes(ModelCut &cut, ModuleOp module) {
  module.walk([&](Operation *op) {
    for (Value result : op->getResults()) {
      onnx::TypeProto type = ox::typeToProto(result.getType());
      if (type.value_case() != onnx::TypeProto::VALUE_NOT_SET)
        cut.addType(valueName(result), type);
    }
  });
}

namespace {
struct Modules {
  OwningOpRef<ModuleOp> costed; ///< as it is compiled, costs on its operations
  OwningOpRef<ModuleOp> sized;  ///< all nodes, with their sizes
};
} // namespace

static Modules importCosted(ModelCut &cut, const Options &options,
                            MLIRContext *context) {
  OwningOpRef<ModuleOp> module;
  orThrow(context, cut.file.path, "; --at cuts without costs", [&] {
    module = import::importModel(cut.file.path, context);
    return success(static_cast<bool>(module));
  });
  addTypes(cut, *module);
  CompileOptions compile;
  compile.dims = sizesOf(*module, options.dims);
  if (auto assumed = ArrayRef(compile.dims).drop_front(options.dims.size());
      !assumed.empty()) {
    auto remark = emitRemark(UnknownLoc::get(context));
    remark << "sizes that costs are for, since none are given (--dim): ";
    llvm::interleaveComma(assumed, remark);
  }
  // Values inside of what is raised are no more in the compiled form.
  OwningOpRef<ModuleOp> sized = module->clone();
  orThrow(context, cut.file.path, "", [&] {
    ox::SpecializeDimsOptions dims;
    dims.dims.assign(compile.dims.begin(), compile.dims.end());
    PassManager pm(context);
    pm.addPass(ox::createSpecializeDims(dims));
    pm.addPass(ox::createInferShapes());
    pm.addPass(ox::createFoldConstants());
    return pm.run(*sized);
  });
  hh::LoadClusterOptions cluster;
  cluster.file = options.cluster;
  cluster.stages = options.cluster.empty() ? options.stages : 0;
  orThrow(context, cut.file.path, "", [&] {
    PassManager pm(context);
    buildNormalizePipeline(pm, compile);
    return pm.run(*module);
  });
  orThrow(context, cut.file.path, "", [&] {
    PassManager pm(context);
    pm.addPass(hh::createLoadCluster(cluster));
    pm.addPass(cost::createAnnotateCost());
    return pm.run(*module);
  });
  return {std::move(module), std::move(sized)};
}

void addImportedTypes(ModelCut &cut, MLIRContext *context) {
  ScopedDiagnosticHandler quiet(context,
                                [](Diagnostic &) { return success(); });
  if (OwningOpRef<ModuleOp> module =
          import::importModel(cut.file.path, context))
    addTypes(cut, *module);
}

//===----------------------------------------------------------------------===//
// The planner's graph
//===----------------------------------------------------------------------===//

namespace {

class GraphBuilder {
public:
  GraphBuilder(const ModelCut &cut, Modules &modules,
               const cluster::Cluster &cluster)
      : cut(cut), main(modules.costed->lookupSymbol<func::FuncOp>("main")),
        sized(modules.sized->lookupSymbol<func::FuncOp>("main")),
        cluster(cluster) {}

  planner::Graph build();
  /// Of the graph's nodes: which node of the model.
  std::vector<unsigned> order;

private:
  std::optional<unsigned> nodeOf(Operation *op);
  void addNodes();
  void addCosts();
  void addTensors();
  void addParameters();
  int64_t bytesOf(StringRef value) const;

  const ModelCut &cut;
  func::FuncOp main, sized;
  const cluster::Cluster &cluster;
  planner::Graph graph;
  std::vector<std::optional<unsigned>> indexOf; ///< of a node of the model
  llvm::StringMap<int64_t> bytes; ///< of the values that the module has
  llvm::DenseMap<Operation *, std::optional<unsigned>> known;
};

} // namespace

/// The node of the model that an operation comes from: the one that makes a
/// value of its name, else that of what reads it.
std::optional<unsigned> GraphBuilder::nodeOf(Operation *op) {
  auto [found, isNew] = known.try_emplace(op);
  if (!isNew)
    return found->second;
  std::optional<unsigned> node;
  for (Value result : op->getResults())
    if (auto made = cut.producer.find(valueName(result));
        made != cut.producer.end())
      node = made->second;
  if (!node)
    for (Operation *user : op->getUsers()) {
      Operation *top = main.getBody().front().findAncestorOpInBlock(*user);
      if (top && !top->hasTrait<OpTrait::IsTerminator>() && !node)
        node = nodeOf(top);
    }
  return known[op] = node;
}

int64_t GraphBuilder::bytesOf(StringRef value) const {
  if (auto found = bytes.find(value); found != bytes.end())
    return found->second;
  // What folding left out: open dims count as 1.
  const onnx::TypeProto *type = cut.typeOf(value);
  if (!type || !type->has_tensor_type())
    return 0;
  double count = 1;
  for (const auto &dim : type->tensor_type().shape().dim())
    if (dim.has_dim_value() && dim.dim_value() > 0)
      count *= static_cast<double>(dim.dim_value());
  return static_cast<int64_t>(
      count * ox::elementBits(type->tensor_type().elem_type()) / 8);
}

void GraphBuilder::addNodes() {
  indexOf.resize(cut.nodes.size());
  llvm::StringMap<unsigned> used;
  for (unsigned index = 0; index < cut.nodes.size(); ++index) {
    const CutNode &source = cut.nodes[index];
    if (source.constant || source.dead)
      continue;
    planner::Node node;
    std::string name = source.proto->name();
    for (const std::string &output : source.proto->output())
      if (name.empty())
        name = output;
    node.name = name;
    for (unsigned suffix = 2; !used.try_emplace(node.name, 0).second; ++suffix)
      node.name = name + "#" + std::to_string(suffix);
    node.forwardSeconds.assign(cluster.types.size(), 0);
    node.backwardSeconds.assign(cluster.types.size(), 0);
    for (const std::string &read : source.reads)
      if (!cut.weights.contains(read))
        node.workspaceBytes += bytesOf(read);
    for (const std::string &output : source.proto->output())
      node.workspaceBytes += bytesOf(output);
    indexOf[index] = graph.nodes.size();
    order.push_back(index);
    graph.nodes.push_back(std::move(node));
  }
}

void GraphBuilder::addCosts() {
  for (Operation &op : main.getBody().front()) {
    auto cost = op.getAttrOfType<hh::CostAttr>(hh::costAttrName);
    std::optional<unsigned> source = nodeOf(&op);
    if (!cost || !source || !indexOf[*source])
      continue;
    planner::Node &node = graph.nodes[*indexOf[*source]];
    if (node.scope.empty())
      node.scope = scopeOf(op.getLoc()).str();
    for (auto [index, type] : llvm::enumerate(cluster.types)) {
      auto seconds =
          dyn_cast_or_null<DenseF64ArrayAttr>(cost.getSeconds().get(type.name));
      node.forwardSeconds[index] +=
          seconds ? seconds[0] : std::numeric_limits<double>::infinity();
    }
  }
}

/// Values that nodes read of each other; constant ones are copied.
void GraphBuilder::addTensors() {
  llvm::MapVector<StringRef, std::vector<unsigned>> readers;
  for (unsigned index = 0; index < cut.nodes.size(); ++index)
    if (indexOf[index])
      for (const std::string &name : cut.nodes[index].reads)
        if (auto from = cut.producer.find(name);
            from != cut.producer.end() && indexOf[from->second])
          readers[name].push_back(*indexOf[index]);
  for (auto &[name, consumers] : readers) {
    planner::Tensor tensor;
    tensor.name = name.str();
    tensor.producer = *indexOf[cut.producer.lookup(name)];
    tensor.consumers = consumers;
    tensor.bytes = bytesOf(name);
    const onnx::TypeProto *type = cut.typeOf(name);
    tensor.cuttable = type && type->has_tensor_type();
    graph.tensors.push_back(std::move(tensor));
  }
}

void GraphBuilder::addParameters() {
  llvm::StringMap<int64_t> sizes;
  for (const TensorProto &tensor : cut.model.graph().initializer())
    sizes[tensor.name()] = ox::rawByteCount(tensor).value_or(0);
  // A stage that reads a constant node holds what that is made from.
  std::vector<llvm::SetVector<StringRef>> weights(cut.nodes.size());
  llvm::MapVector<StringRef, std::vector<unsigned>> users;
  for (unsigned index = 0; index < cut.nodes.size(); ++index) {
    for (const std::string &name : cut.nodes[index].reads) {
      if (cut.weights.contains(name))
        weights[index].insert(name);
      else if (auto from = cut.producer.find(name);
               from != cut.producer.end() && cut.nodes[from->second].constant)
        weights[index].insert_range(weights[from->second]);
    }
    if (indexOf[index])
      for (StringRef name : weights[index])
        users[name].push_back(*indexOf[index]);
  }
  for (auto &[name, nodes] : users) {
    if (nodes.size() == 1)
      graph.nodes[nodes.front()].parameterBytes += sizes.lookup(name);
    else
      graph.sharedParameters.push_back(
          {name.str(), sizes.lookup(name), nodes, false});
  }
}

planner::Graph GraphBuilder::build() {
  for (BlockArgument input : sized.getArguments())
    bytes.try_emplace(valueName(input), hh::byteSize(input.getType()));
  sized.walk([&](Operation *op) {
    for (Value result : op->getResults())
      bytes.try_emplace(valueName(result), hh::byteSize(result.getType()));
  });
  addNodes();
  addCosts();
  addTensors();
  addParameters();
  return std::move(graph);
}

//===----------------------------------------------------------------------===//
// The cut
//===----------------------------------------------------------------------===//

llvm::json::Value cutByPlan(ModelCut &cut, const Options &options,
                            MLIRContext *context) {
  Modules modules = importCosted(cut, options, context);
  cluster::Cluster cluster = hh::readCluster(*modules.costed);
  // Equal devices stand for any: their memory is not that of this machine.
  if (options.cluster.empty())
    for (cluster::DeviceType &type : cluster.types)
      type.memoryBytes = 0;
  GraphBuilder builder(cut, modules, cluster);
  planner::Graph graph = builder.build();
  planner::Options search;
  search.microbatches = options.microbatches;
  search.exactStages = options.stages;
  search.replicas = false; // a file a stage
  search.workLimit = options.workLimit;
  if (graph.nodes.empty())
    fail("the model computes nothing that depends on its inputs: nothing to "
         "cut");
  llvm::Expected<planner::Plan> plan =
      planner::findPlan(graph, cluster, search);
  if (!plan)
    fail(llvm::toString(plan.takeError()));
  for (auto [stage, description] : llvm::enumerate(plan->stages))
    for (unsigned node : description.nodes)
      cut.nodes[builder.order[node]].stage = stage;
  cut.stageCount = plan->stages.size();
  // What it holds points into the graph.
  return llvm::cantFail(llvm::json::parse(
      llvm::formatv("{0}", planner::planToJSON(graph, cluster, *plan)).str()));
}

} // namespace hethub::split
