// The ideals of a DAG: sets of nodes that hold every predecessor of their
// nodes. The cuts between stages of a pipeline are exactly these sets, so a
// dynamic program over them sees every pipeline there is.
#ifndef HETHUB_LIB_PLANNER_IDEALS_H
#define HETHUB_LIB_PLANNER_IDEALS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/MathExtras.h"

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace hethub::planner {

class Ideals {
public:
  using Edge = std::pair<unsigned, unsigned>; ///< (source, target).
  /// `ideal` is this one with `node` added.
  struct Successor {
    unsigned node;
    unsigned ideal;
  };

  /// All ideals of an acyclic graph; nothing when there are more than `limit`.
  static std::optional<Ideals>
  enumerate(unsigned nodeCount, llvm::ArrayRef<Edge> edges, size_t limit);

  /// Only those in `sets` (words as below); the empty and the full set always.
  static Ideals of(unsigned nodeCount, std::vector<std::vector<uint64_t>> sets);

  /// Ordered by number of nodes: 0 is the empty set, size() - 1 all nodes.
  unsigned size() const { return sizes.size(); }
  unsigned nodeCount(unsigned ideal) const { return sizes[ideal]; }
  /// Bit v % 64 of word v / 64 says whether node v is in.
  llvm::ArrayRef<uint64_t> words(unsigned ideal) const {
    return llvm::ArrayRef(bits).slice(size_t(ideal) * stride, stride);
  }
  bool contains(unsigned ideal, unsigned node) const {
    return words(ideal)[node / 64] >> (node % 64) & 1;
  }
  bool isSubset(unsigned inner, unsigned outer) const {
    const uint64_t *in = &bits[size_t(inner) * stride];
    const uint64_t *out = &bits[size_t(outer) * stride];
    for (unsigned word = 0; word < stride; ++word)
      if (in[word] & ~out[word])
        return false;
    return true;
  }
  /// The ideals here of one node more, by that node in ascending order.
  llvm::ArrayRef<Successor> successors(unsigned ideal) const {
    return llvm::ArrayRef(next).slice(begins[ideal],
                                      begins[ideal + 1] - begins[ideal]);
  }
  /// The nodes of `outer` that are not in `inner`, ascending.
  template <typename Visit>
  void forEachBetween(unsigned inner, unsigned outer, Visit visit) const {
    const uint64_t *in = &bits[size_t(inner) * stride];
    const uint64_t *out = &bits[size_t(outer) * stride];
    for (unsigned word = 0; word < stride; ++word)
      for (uint64_t rest = out[word] & ~in[word]; rest; rest &= rest - 1)
        visit(word * 64 + llvm::countr_zero(rest));
  }

private:
  unsigned stride = 1; ///< Words of one ideal.
  std::vector<uint64_t> bits;
  std::vector<unsigned> sizes;
  std::vector<size_t> begins; ///< Of each ideal's successors in `next`.
  std::vector<Successor> next;
};

} // namespace hethub::planner

#endif
