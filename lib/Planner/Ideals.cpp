// Ideals are found level by level: those of n + 1 nodes are those of n nodes
// with one node added whose predecessors are all in.
#include "Ideals.h"

#include "llvm/ADT/Hashing.h"

#include <unordered_map>

using namespace llvm;

namespace hethub::planner {

std::optional<Ideals> Ideals::enumerate(unsigned nodeCount,
                                        ArrayRef<Edge> edges, size_t limit) {
  std::vector<std::vector<unsigned>> targets(nodeCount), sources(nodeCount);
  for (auto [source, target] : edges) {
    targets[source].push_back(target);
    sources[target].push_back(source);
  }

  Ideals ideals;
  ideals.stride = std::max(1u, (nodeCount + 63) / 64);
  const unsigned stride = ideals.stride;
  std::vector<uint64_t> &bits = ideals.bits;
  bits.assign(stride, 0);
  ideals.sizes = {0};

  // Nodes that may come next, ascending: a level's sets and the following
  // level's are all that is needed at a time.
  using Nodes = std::vector<unsigned>;
  std::vector<Nodes> available(1), availableNext;
  for (unsigned node = 0; node < nodeCount; ++node)
    if (sources[node].empty())
      available[0].push_back(node);

  std::vector<uint64_t> words(stride);
  for (unsigned begin = 0, end = 1; begin < end;
       begin = end, end = ideals.sizes.size()) {
    std::unordered_multimap<size_t, unsigned> known; // Of the next level.
    availableNext.clear();
    for (unsigned ideal = begin; ideal < end; ++ideal) {
      ideals.begins.push_back(ideals.next.size());
      for (unsigned node : available[ideal - begin]) {
        ArrayRef<uint64_t> from = ideals.words(ideal);
        words.assign(from.begin(), from.end());
        words[node / 64] |= uint64_t(1) << (node % 64);
        const size_t hash = hash_combine_range(words.begin(), words.end());
        auto [entry, last] = known.equal_range(hash);
        while (entry != last &&
               ideals.words(entry->second) != ArrayRef<uint64_t>(words))
          ++entry;
        if (entry != last) {
          ideals.next.push_back({node, entry->second});
          continue;
        }
        const unsigned fresh = ideals.sizes.size();
        if (fresh >= limit)
          return std::nullopt;
        bits.insert(bits.end(), words.begin(), words.end());
        ideals.sizes.push_back(ideals.sizes[ideal] + 1);
        known.emplace(hash, fresh);
        ideals.next.push_back({node, fresh});

        Nodes &nodes = availableNext.emplace_back();
        for (unsigned other : available[ideal - begin])
          if (other != node)
            nodes.push_back(other);
        for (unsigned target : targets[node]) {
          bool free = true;
          for (unsigned source : sources[target])
            free &= words[source / 64] >> (source % 64) & 1;
          if (free)
            nodes.push_back(target);
        }
        // Several edges between two nodes enable the target once.
        std::sort(nodes.begin(), nodes.end());
        nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
      }
    }
    available.swap(availableNext);
  }
  ideals.begins.push_back(ideals.next.size());
  return ideals;
}

Ideals Ideals::of(unsigned nodeCount, std::vector<std::vector<uint64_t>> sets) {
  Ideals ideals;
  const unsigned stride = ideals.stride = std::max(1u, (nodeCount + 63) / 64);
  std::vector<uint64_t> words(stride, 0);
  sets.push_back(words);
  for (unsigned node = 0; node < nodeCount; ++node)
    words[node / 64] |= uint64_t(1) << (node % 64);
  sets.push_back(words);

  auto count = [](ArrayRef<uint64_t> set) {
    unsigned nodes = 0;
    for (uint64_t word : set)
      nodes += llvm::popcount(word);
    return nodes;
  };
  std::sort(sets.begin(), sets.end(), [&](const auto &a, const auto &b) {
    const unsigned sizeA = count(a), sizeB = count(b);
    return sizeA != sizeB ? sizeA < sizeB : a < b;
  });
  sets.erase(std::unique(sets.begin(), sets.end()), sets.end());
  for (const std::vector<uint64_t> &set : sets) {
    ideals.bits.insert(ideals.bits.end(), set.begin(), set.end());
    ideals.sizes.push_back(count(set));
  }
  for (unsigned ideal = 0, level = 0; ideal < ideals.size(); ++ideal) {
    ideals.begins.push_back(ideals.next.size());
    while (level < ideals.size() && ideals.sizes[level] <= ideals.sizes[ideal])
      ++level;
    const size_t first = ideals.next.size();
    for (unsigned larger = level;
         larger < ideals.size() &&
         ideals.sizes[larger] == ideals.sizes[ideal] + 1;
         ++larger)
      if (ideals.isSubset(ideal, larger))
        ideals.forEachBetween(ideal, larger, [&](unsigned node) {
          ideals.next.push_back({node, larger});
        });
    std::sort(ideals.next.begin() + first, ideals.next.end(),
              [](Successor a, Successor b) { return a.node < b.node; });
  }
  ideals.begins.push_back(ideals.next.size());
  return ideals;
}

} // namespace hethub::planner
