// Checks of a planner graph, and its nodes in another order.
#include "hethub/Planner/Graph.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/IntEqClasses.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/Twine.h"

#include <cmath>

using namespace llvm;

namespace hethub::planner {

static Error fail(const Twine &message) {
  return createStringError(inconvertibleErrorCode(), message);
}

/// `infinite`: infinity is a legal entry ("cannot be done there").
static Error checkSeconds(const Node &node, StringRef what,
                          const std::vector<double> &seconds,
                          unsigned typeCount, bool mayBeEmpty) {
  if (seconds.size() != typeCount && !(mayBeEmpty && seconds.empty()))
    return fail("operation '" + node.name + "': " + what +
                " must have one entry for each of the " + Twine(typeCount) +
                " device types, got: " + Twine(seconds.size()));
  for (double value : seconds)
    if (std::isnan(value) || value < 0)
      return fail("operation '" + node.name + "': " + what +
                  " must be at least 0, got: " + Twine(std::to_string(value)));
  return Error::success();
}

static bool runsOn(const Node &node, unsigned type) {
  return std::isfinite(node.forwardSeconds[type]) &&
         (node.backwardSeconds.empty() ||
          std::isfinite(node.backwardSeconds[type]));
}

/// What must stand in one stage, by groups and by values that may not cross,
/// needs a type that runs all of it.
static Error checkTogether(const Graph &graph, unsigned typeCount) {
  IntEqClasses together(graph.nodes.size());
  DenseMap<int, unsigned> groups;
  for (unsigned index = 0; index < graph.nodes.size(); ++index)
    if (int group = graph.nodes[index].group; group >= 0)
      together.join(groups.try_emplace(group, index).first->second, index);
  for (const Tensor &tensor : graph.tensors)
    if (!tensor.cuttable)
      for (unsigned consumer : tensor.consumers)
        together.join(tensor.producer, consumer);
  // The first of a class leads it.
  std::vector<std::vector<char>> runs(graph.nodes.size());
  for (unsigned index = 0; index < graph.nodes.size(); ++index) {
    const unsigned first = together.findLeader(index);
    runs[first].resize(typeCount, true);
    bool any = false;
    for (unsigned type = 0; type < typeCount; ++type) {
      runs[first][type] &= runsOn(graph.nodes[index], type);
      any |= runs[first][type];
    }
    if (!any)
      return fail("operations of one stage must be able to run on one device "
                  "type, got none for those that must stay with '" +
                  graph.nodes[first].name + "' and '" +
                  graph.nodes[index].name + "'");
  }
  return Error::success();
}

Error verifyGraph(const Graph &graph, unsigned typeCount) {
  if (graph.nodes.empty())
    return fail("a graph must have at least one operation");
  StringSet<> names;
  for (const Node &node : graph.nodes) {
    if (!names.insert(node.name).second)
      return fail("operation names must be unique, got twice: '" + node.name +
                  "'");
    if (Error error = checkSeconds(node, "forward seconds", node.forwardSeconds,
                                   typeCount, false))
      return error;
    if (Error error = checkSeconds(node, "backward seconds",
                                   node.backwardSeconds, typeCount, true))
      return error;
    if (Error error = checkSeconds(node, "weight seconds", node.weightSeconds,
                                   typeCount, true))
      return error;
    for (size_t type = 0; type < node.weightSeconds.size(); ++type)
      if (node.backwardSeconds.empty() ||
          node.weightSeconds[type] > node.backwardSeconds[type])
        return fail("operation '" + node.name +
                    "': weight seconds must be a part of the backward seconds");
    if (Error error = checkSeconds(node, "clone seconds", node.cloneSeconds,
                                   typeCount, true))
      return error;
    for (int64_t bytes :
         {node.parameterBytes, node.frozenBytes, node.activationBytes,
          node.workspaceBytes, node.reduceBytes,
          node.parameterBytes - node.frozenBytes})
      if (bytes < 0)
        return fail("operation '" + node.name +
                    "': bytes must be at least 0, got: " + Twine(bytes));
    bool runs = false;
    for (unsigned type = 0; type < typeCount; ++type)
      runs |= runsOn(node, type);
    if (!runs)
      return fail("operation '" + node.name +
                  "' must be able to run on some device type, got: none");
  }
  for (const Tensor &tensor : graph.tensors) {
    if (tensor.bytes < 0)
      return fail("value '" + tensor.name +
                  "': bytes must be at least 0, got: " + Twine(tensor.bytes));
    if (tensor.producer >= graph.nodes.size())
      return fail("value '" + tensor.name +
                  "': the producer must be an operation, got: " +
                  Twine(tensor.producer));
    for (unsigned consumer : tensor.consumers) {
      if (consumer >= graph.nodes.size())
        return fail("value '" + tensor.name +
                    "': consumers must be operations, got: " + Twine(consumer));
      if (consumer <= tensor.producer)
        return fail("value '" + tensor.name +
                    "': operations must stand in topological order, got: '" +
                    graph.nodes[consumer].name + "', which reads what '" +
                    graph.nodes[tensor.producer].name + "' makes, before it");
    }
  }
  for (const SharedParameter &parameter : graph.sharedParameters) {
    if (parameter.bytes < 0)
      return fail(
          "parameter '" + parameter.name +
          "': bytes must be at least 0, got: " + Twine(parameter.bytes));
    for (unsigned user : parameter.users)
      if (user >= graph.nodes.size())
        return fail("parameter '" + parameter.name +
                    "': users must be operations, got: " + Twine(user));
  }
  return checkTogether(graph, typeCount);
}

Graph reorder(const Graph &graph, ArrayRef<unsigned> order) {
  std::vector<unsigned> position(graph.nodes.size());
  Graph result;
  for (unsigned index = 0; index < order.size(); ++index) {
    position[order[index]] = index;
    result.nodes.push_back(graph.nodes[order[index]]);
  }
  result.tensors = graph.tensors;
  for (Tensor &tensor : result.tensors) {
    tensor.producer = position[tensor.producer];
    for (unsigned &consumer : tensor.consumers)
      consumer = position[consumer];
  }
  result.sharedParameters = graph.sharedParameters;
  for (SharedParameter &parameter : result.sharedParameters)
    for (unsigned &user : parameter.users)
      user = position[user];
  return result;
}

} // namespace hethub::planner
