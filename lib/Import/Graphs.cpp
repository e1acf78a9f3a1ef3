//===- Graphs.cpp - names, scopes and order of nodes ----------------------===//

#include "ImportDetail.h"
#include "hethub/Import/Import.h"

#include "onnx/defs/schema.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/ConvertUTF.h"

#include <queue>

using llvm::StringRef;
using llvm::Twine;
using onnx::GraphProto;
using onnx::ModelProto;
using onnx::NodeProto;

namespace hethub::import {

int newestOpset() {
  static const int newest =
      onnx::OpSchemaRegistry::DomainToVersionRange::Instance()
          .Map()
          .at(onnx::ONNX_DOMAIN)
          .second;
  return newest;
}

std::string describe(const NodeProto &node) {
  std::string name = node.name();
  if (name.empty() && node.output_size())
    name = node.output(0);
  std::string type = node.domain().empty()
                         ? node.op_type()
                         : node.domain() + "." + node.op_type();
  return "node '" + name + "' (" + type + ")";
}

void forEachGraph(GraphProto &graph,
                  const std::function<void(GraphProto &)> &function) {
  function(graph);
  for (NodeProto &node : *graph.mutable_node())
    for (auto &attribute : *node.mutable_attribute()) {
      if (attribute.has_g())
        forEachGraph(*attribute.mutable_g(), function);
      for (GraphProto &inner : *attribute.mutable_graphs())
        forEachGraph(inner, function);
    }
}

//===----------------------------------------------------------------------===//
// Domains, versions, spelling
//===----------------------------------------------------------------------===//

static constexpr StringRef aliasDomain = "ai.onnx";

static void checkText(StringRef text, StringRef what) {
  if (!llvm::isLegalUTF8String(
          reinterpret_cast<const llvm::UTF8 **>(
              std::array<const llvm::UTF8 *, 1>{text.bytes_begin()}.data()),
          text.bytes_end()))
    fail(what +
         " must be UTF-8, got bytes: " + llvm::toHex(text.take_front(32)));
}

/// Operators of onnxruntime that its optimiser writes into the default domain.
static constexpr const char *strayOperators[] = {
    "SimplifiedLayerNormalization"};

StringRef domainInFiles(StringRef domain, StringRef opType) {
  return domain == "com.microsoft" && llvm::is_contained(strayOperators, opType)
             ? ""
             : domain;
}

static void normaliseNode(NodeProto &node) {
  if (node.domain() == aliasDomain)
    node.clear_domain();
  if (node.domain().empty() &&
      llvm::is_contained(strayOperators, StringRef(node.op_type())))
    node.set_domain("com.microsoft");
  checkText(node.name(), "name of a node");
  for (const std::string &output : node.output())
    checkText(output, "name of a value");
}

template <typename Imports>
static void normaliseImports(Imports &imports) {
  for (auto &import : imports)
    if (import.domain() == aliasDomain)
      import.clear_domain();
}

void normalise(ModelProto &model) {
  if (model.ir_version() > onnx::IR_VERSION)
    fail("IR version must be at most " + Twine(int(onnx::IR_VERSION)) +
         ", got: " + Twine(model.ir_version()));
  normaliseImports(*model.mutable_opset_import());
  if (model.opset_import().empty()) {
    if (model.ir_version() >= 3)
      fail("must name the opsets it uses (opset_import)");
    model.add_opset_import()->set_version(1);
  }
  llvm::StringMap<int64_t> versions;
  for (const auto &import : model.opset_import()) {
    auto [it, added] = versions.try_emplace(import.domain(), import.version());
    if (!added && it->second != import.version())
      fail("opset of domain '" + import.domain() +
           "' must have one version, got: " + Twine(it->second) + " and " +
           Twine(import.version()));
    if (import.domain().empty() &&
        (import.version() < 1 || import.version() > newestOpset()))
      fail("opset must be 1 to " + Twine(newestOpset()) +
           ", got: " + Twine(import.version()));
  }
  // Two spellings of one domain leave two equal entries.
  auto *imports = model.mutable_opset_import();
  for (int i = imports->size() - 1; i > 0; --i)
    for (int j = 0; j < i; ++j)
      if (imports->Get(i).domain() == imports->Get(j).domain()) {
        imports->DeleteSubrange(i, 1);
        break;
      }
  forEachGraph(*model.mutable_graph(), [](GraphProto &graph) {
    if (graph.name().empty())
      graph.set_name("graph"); // the checker asks for one
    for (const auto &input : graph.input())
      checkText(input.name(), "name of an input");
    for (const auto &weight : graph.initializer())
      checkText(weight.name(), "name of a weight");
    for (NodeProto &node : *graph.mutable_node())
      normaliseNode(node);
  });
  bool needsMicrosoft = false;
  forEachGraph(*model.mutable_graph(), [&](GraphProto &graph) {
    for (const NodeProto &node : graph.node())
      needsMicrosoft |= node.domain() == "com.microsoft";
  });
  if (needsMicrosoft && !versions.contains("com.microsoft")) {
    auto *import = model.add_opset_import();
    import->set_domain("com.microsoft");
    import->set_version(1);
  }
  for (auto &function : *model.mutable_functions()) {
    normaliseImports(*function.mutable_opset_import());
    for (NodeProto &node : *function.mutable_node()) {
      normaliseNode(node);
      for (auto &attribute : *node.mutable_attribute())
        if (attribute.has_g())
          forEachGraph(*attribute.mutable_g(), [](GraphProto &graph) {
            for (NodeProto &inner : *graph.mutable_node())
              normaliseNode(inner);
          });
    }
  }
  for (const auto &input : model.graph().input())
    if (input.type().value_case() == onnx::TypeProto::VALUE_NOT_SET)
      fail("input '" + input.name() + "' must have a type");
}

//===----------------------------------------------------------------------===//
// Order
//===----------------------------------------------------------------------===//

namespace {

/// The names that a graph defines, and the graph around it.
struct Scope {
  const Scope *outer = nullptr;
  llvm::StringMap<int> definedBy; ///< index of the node, or -1

  bool has(StringRef name) const {
    for (const Scope *scope = this; scope; scope = scope->outer)
      if (scope->definedBy.count(name))
        return true;
    return false;
  }
};

class Sorter {
public:
  /// Sorts `graph`; adds the names that it reads from outside to `captured`.
  void sort(GraphProto &graph, const Scope *outer,
            llvm::StringSet<> &captured) {
    Scope scope{outer, {}};
    define(graph, scope);

    int count = graph.node_size();
    std::vector<llvm::SmallVector<int, 4>> readers(count);
    std::vector<int> missing(count, 0);
    for (int index = 0; index < count; ++index) {
      NodeProto &node = *graph.mutable_node(index);
      llvm::StringSet<> reads;
      for (const std::string &input : node.input())
        if (!input.empty())
          reads.insert(input);
      for (const auto &name : reads)
        if (!scope.has(name.getKey()))
          fail(describe(node) + " reads a value that nothing defines: '" +
               name.getKey() + "'");
      for (auto &attribute : *node.mutable_attribute()) {
        if (attribute.has_g())
          sort(*attribute.mutable_g(), &scope, reads);
        for (GraphProto &inner : *attribute.mutable_graphs())
          sort(inner, &scope, reads);
      }
      for (const auto &name : reads) {
        auto it = scope.definedBy.find(name.getKey());
        if (it == scope.definedBy.end()) {
          captured.insert(name.getKey());
        } else if (it->second >= 0) {
          readers[it->second].push_back(index);
          ++missing[index];
        }
      }
    }
    order(graph, readers, missing);
    connectOutputs(graph, scope, captured);
  }

private:
  static void define(const GraphProto &graph, Scope &scope) {
    for (const auto &input : graph.input())
      if (!scope.definedBy.try_emplace(input.name(), -1).second)
        fail("two inputs have one name: '" + input.name() + "'");
    llvm::StringSet<> weights;
    auto weight = [&](const std::string &name) {
      if (name.empty())
        fail("a weight must have a name");
      if (!weights.insert(name).second)
        fail("two weights have one name: '" + name + "'");
      scope.definedBy.try_emplace(name, -1); // an input with a default value
    };
    for (const auto &tensor : graph.initializer())
      weight(tensor.name());
    for (const auto &tensor : graph.sparse_initializer())
      weight(tensor.values().name());
    for (int index = 0; index < graph.node_size(); ++index)
      for (const std::string &output : graph.node(index).output()) {
        if (output.empty())
          continue;
        auto [it, added] = scope.definedBy.try_emplace(output, index);
        if (added)
          continue;
        std::string other = it->second >= 0 ? describe(graph.node(it->second))
                            : weights.contains(output) ? "a weight"
                                                       : "an input";
        fail(describe(graph.node(index)) + " defines the value '" + output +
             "', which " + other + " defines already");
      }
  }

  /// Keeps the given order where it is right.
  static void order(GraphProto &graph,
                    const std::vector<llvm::SmallVector<int, 4>> &readers,
                    std::vector<int> &missing) {
    int count = graph.node_size();
    std::priority_queue<int, std::vector<int>, std::greater<int>> ready;
    for (int index = 0; index < count; ++index)
      if (!missing[index])
        ready.push(index);
    std::vector<int> sorted;
    while (!ready.empty()) {
      int index = ready.top();
      ready.pop();
      sorted.push_back(index);
      for (int reader : readers[index])
        if (!--missing[reader])
          ready.push(reader);
    }
    if (static_cast<int>(sorted.size()) < count)
      reportCycle(graph, readers, missing);
    if (std::is_sorted(sorted.begin(), sorted.end()))
      return;
    google::protobuf::RepeatedPtrField<NodeProto> nodes;
    nodes.Swap(graph.mutable_node());
    for (int index : sorted)
      graph.add_node()->Swap(nodes.Mutable(index));
  }

  /// Every node that is left waits for another one: following those back must
  /// close a circle.
  [[noreturn]] static void
  reportCycle(const GraphProto &graph,
              const std::vector<llvm::SmallVector<int, 4>> &readers,
              const std::vector<int> &missing) {
    llvm::DenseMap<int, int> waitsFor;
    for (int index = 0; index < graph.node_size(); ++index)
      if (missing[index])
        for (int reader : readers[index])
          waitsFor[reader] = index;
    int node = waitsFor.begin()->first;
    llvm::DenseMap<int, bool> seen;
    while (!seen[node]) {
      seen[node] = true;
      node = waitsFor[node];
    }
    std::string cycle = describe(graph.node(node));
    for (int next = waitsFor[node]; next != node; next = waitsFor[next])
      cycle += " <- " + describe(graph.node(next));
    fail("nodes must not form a cycle, got: " + cycle + " <- " +
         describe(graph.node(node)));
  }

  /// A sub-graph may give an outer value as its result; the checker wants a
  /// node for that.
  static void connectOutputs(GraphProto &graph, const Scope &scope,
                             llvm::StringSet<> &captured) {
    for (auto &output : *graph.mutable_output()) {
      if (scope.definedBy.count(output.name()))
        continue;
      if (!scope.outer || !scope.has(output.name()))
        fail("nothing defines the output '" + output.name() + "'");
      captured.insert(output.name());
      std::string fresh = output.name() + "_passed_on";
      while (scope.has(fresh))
        fresh += "_";
      NodeProto *node = graph.add_node();
      node->set_op_type("Identity");
      node->add_input(output.name());
      node->add_output(fresh);
      output.set_name(fresh);
    }
  }
};

} // namespace

void sortGraphs(ModelProto &model) {
  llvm::StringSet<> captured;
  Sorter().sort(*model.mutable_graph(), nullptr, captured);
}

} // namespace hethub::import
