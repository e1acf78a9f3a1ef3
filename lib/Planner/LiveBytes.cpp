// A sweep over the stage's nodes.
#include "hethub/Planner/LiveBytes.h"

#include <algorithm>

using namespace llvm;

namespace hethub::planner {

int64_t liveBytes(const Graph &graph, ArrayRef<unsigned> nodes) {
  constexpr unsigned outside = ~0u;
  std::vector<unsigned> positions(graph.nodes.size(), outside);
  for (unsigned position = 0; position < nodes.size(); ++position)
    positions[nodes[position]] = position;
  // Beside a node's own inputs and outputs, which its workspace counts: what
  // begins to be there (or ends) between nodes.
  std::vector<int64_t> change(nodes.size() + 1, 0);
  auto alive = [&](unsigned begin, unsigned end, int64_t bytes) {
    change[begin] += bytes;
    change[end] -= bytes;
  };
  for (const Tensor &tensor : graph.tensors) {
    unsigned begin = positions[tensor.producer];
    // Where the value is read here, in order, and whether it goes elsewhere.
    std::vector<unsigned> readers;
    bool leaves = false;
    for (unsigned consumer : tensor.consumers)
      if (positions[consumer] != outside)
        readers.push_back(positions[consumer]);
      else
        leaves = true;
    bool received = begin == outside;
    if (received && readers.empty())
      continue;
    std::sort(readers.begin(), readers.end());
    // The producer's and the readers' own workspaces count it already.
    unsigned from = received ? 0 : begin + 1;
    for (unsigned reader : readers) {
      if (reader > from)
        alive(from, reader, tensor.bytes);
      from = std::max(from, reader + 1);
    }
    if (leaves && !received)
      alive(from, unsigned(nodes.size()), tensor.bytes);
  }
  int64_t most = 0, now = 0;
  for (unsigned position = 0; position < nodes.size(); ++position) {
    now += change[position];
    most = std::max(most, now + graph.nodes[nodes[position]].workspaceBytes);
  }
  return most;
}

} // namespace hethub::planner
