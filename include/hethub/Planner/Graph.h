// What the planner sees of a model: operations with costs for each device type,
// and the tensors between them.
#ifndef HETHUB_PLANNER_GRAPH_H
#define HETHUB_PLANNER_GRAPH_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <string>
#include <vector>

namespace hethub::planner {

/// An operation. Vectors "per type" have one entry for each device type of the
/// cluster, in its order.
struct Node {
  std::string name;
  std::string scope; ///< Exporter scope (transformer block); equally good cuts
                     ///< are made where it changes.
  std::vector<double> forwardSeconds;  ///< Per type, of one microbatch.
                                       ///< Infinity: cannot run there.
  std::vector<double> backwardSeconds; ///< Per type; empty: no backward part.
  /// Per type: of these, what gradients of parameters take, which zero-bubble
  /// schedules put off; empty: nothing.
  std::vector<double> weightSeconds;
  int64_t parameterBytes = 0; ///< Weights that this node alone reads. Others:
                              ///< Graph::sharedParameters.
  int64_t frozenBytes = 0; ///< Of these, what is not trained: neither gradient
                           ///< nor optimizer state.
  int64_t activationBytes = 0; ///< Kept from forward to backward, for each
                               ///< microbatch in flight (training).
  int64_t workspaceBytes = 0; ///< Needed while it runs: its inputs, outputs and
                              ///< scratch. A stage needs its largest.
  int group = -1;             ///< Nodes of one group (>= 0) stay in one stage.
  /// Devices of a tensor-parallel stage share its work, parameters and kept
  /// activations evenly; false: each computes all of it.
  bool splits = false;
  /// Bytes that the devices of a tensor-parallel stage sum after its forward,
  /// and as many in its backward.
  int64_t reduceBytes = 0;
  /// Per type: seconds to compute its results again in another stage instead of
  /// sending them there, all that it depends on included; infinity where that
  /// cannot be. Empty: never cloned.
  std::vector<double> cloneSeconds;
};

/// A value with one producer. Values that no operation reads need no entry, nor
/// do graph inputs, which are fed where used.
struct Tensor {
  std::string name;
  unsigned producer = 0; ///< Index of a node.
  std::vector<unsigned>
      consumers;     ///< Indices of nodes; order and repetition do not matter.
  int64_t bytes = 0; ///< Of one microbatch.
  bool cuttable = true; ///< false (sequence, optional): producer and consumers
                        ///< stay in one stage.
};

/// A parameter that several nodes read. Counted once in each stage that has a
/// user.
struct SharedParameter {
  std::string name;
  int64_t bytes = 0;
  std::vector<unsigned> users;
  bool frozen = false; ///< Not trained.
};

struct Graph {
  std::vector<Node> nodes; ///< In a topological order: the one that is cut.
  std::vector<Tensor> tensors;
  std::vector<SharedParameter> sharedParameters;
};

/// Refuses a graph that is no graph for `typeCount` device types: indices out
/// of range, vectors of wrong length, negative or NaN figures, an edge that
/// goes backwards, two nodes of one name. One message, which names the node.
llvm::Error verifyGraph(const Graph &graph, unsigned typeCount);

/// The graph with its nodes in another topological order: node `order[k]`
/// becomes node k.
Graph reorder(const Graph &graph, llvm::ArrayRef<unsigned> order);

} // namespace hethub::planner

#endif
