// Ensembles of decision trees. A node is a row of the node tables; a child is a
// node by its number, or leaf i as -1 - i. A leaf adds the entries
// leaf_starts[i] ... leaf_starts[i + 1] of (target, weight) to the result.
#include "hethub/runtime/ops.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace hethub::ops {

namespace {

/// The comparisons in the order in which ONNX numbers them.
enum Mode { LessEqual, Less, GreaterEqual, Greater, Equal, NotEqual, Member };

struct TreeTables {
  at::Tensor features, modes, splits, true_children, false_children,
      missing_true, roots, leaf_starts, leaf_targets, leaf_weights,
      member_starts, members;
};

at::Tensor table(const at::Tensor &x, at::ScalarType type, int64_t size,
                 const char *name) {
  TORCH_CHECK(x.dim() == 1 && (size < 0 || x.size(0) == size), "table '", name,
              "' of a tree ensemble must have ", size,
              " entries, got: ", x.sizes());
  return x.to(at::kCPU, type).contiguous();
}

/// The tables, checked once: every number that is used as an index is one.
template <typename T>
class Ensemble {
public:
  Ensemble(const TreeTables &t, int64_t features_, int64_t targets)
      : nodes(t.features.numel()),
        features(table(t.features, at::kLong, nodes, "features")),
        modes(table(t.modes, at::kLong, nodes, "modes")),
        splits(table(t.splits, type(), nodes, "splits")),
        yes(table(t.true_children, at::kLong, nodes, "true_children")),
        no(table(t.false_children, at::kLong, nodes, "false_children")),
        missing(table(t.missing_true, at::kLong, nodes, "missing_true")),
        roots(table(t.roots, at::kLong, -1, "roots")),
        starts(table(t.leaf_starts, at::kLong, -1, "leaf_starts")),
        targetOf(table(t.leaf_targets, at::kLong, -1, "leaf_targets")),
        weights(
            table(t.leaf_weights, type(), targetOf.numel(), "leaf_weights")),
        memberStarts(table(t.member_starts, at::kLong, -1, "member_starts")),
        members(table(t.members, type(), -1, "members")) {
    check(features, 0, features_, "features");
    check(modes, 0, Member + 1, "modes");
    int64_t leaves = starts.numel() - 1;
    for (const at::Tensor *child : {&yes, &no, &roots})
      check(*child, -leaves, nodes, "children");
    check(targetOf, 0, targets, "leaf_targets");
    ascending(starts, targetOf.numel(), "leaf_starts");
    if (at::any(modes.eq(Member)).template item<bool>()) {
      TORCH_CHECK(memberStarts.numel() == nodes + 1,
                  "member_starts of a tree ensemble must have ", nodes + 1,
                  " entries, got: ", memberStarts.numel());
      ascending(memberStarts, members.numel(), "member_starts");
    }
  }

  int64_t trees() const { return roots.numel(); }

  /// Calls `use(target, weight)` for the entries of the leaf that tree `tree`
  /// comes to.
  template <typename Use>
  void follow(int64_t tree, const T *x, Use use) const {
    int64_t at = long_(roots)[tree];
    for (int64_t steps = 0; at >= 0; ++steps) {
      TORCH_CHECK(steps < nodes, "a tree of an ensemble has a cycle");
      at = chooses(at, x[long_(features)[at]]) ? long_(yes)[at] : long_(no)[at];
    }
    int64_t leaf = -1 - at;
    for (int64_t i = long_(starts)[leaf]; i < long_(starts)[leaf + 1]; ++i)
      use(long_(targetOf)[i], real(weights)[i]);
  }

private:
  static at::ScalarType type() { return c10::CppTypeToScalarType<T>::value; }
  static const int64_t *long_(const at::Tensor &x) {
    return x.const_data_ptr<int64_t>();
  }
  static const T *real(const at::Tensor &x) { return x.const_data_ptr<T>(); }

  static void check(const at::Tensor &x, int64_t low, int64_t end,
                    const char *name) {
    for (int64_t i = 0, n = x.numel(); i < n; ++i)
      TORCH_CHECK_INDEX(long_(x)[i] >= low && long_(x)[i] < end, "'", name,
                        "' of a tree ensemble must lie in [", low, ", ", end,
                        "), got: ", long_(x)[i]);
  }
  static void ascending(const at::Tensor &x, int64_t end, const char *name) {
    const int64_t *begin = long_(x), *last = begin + x.numel();
    TORCH_CHECK(begin != last && *begin == 0 && last[-1] == end &&
                    std::is_sorted(begin, last),
                "'", name, "' of a tree ensemble must rise from 0 to ", end);
  }

  bool chooses(int64_t node, T value) const {
    if (std::isnan(value))
      return long_(missing)[node] || long_(modes)[node] == NotEqual;
    T split = real(splits)[node];
    switch (long_(modes)[node]) {
    case LessEqual:
      return value <= split;
    case Less:
      return value < split;
    case GreaterEqual:
      return value >= split;
    case Greater:
      return value > split;
    case Equal:
      return value == split;
    case NotEqual:
      return value != split;
    default: {
      const T *begin = real(members) + long_(memberStarts)[node];
      const T *end = real(members) + long_(memberStarts)[node + 1];
      return std::find(begin, end, value) != end;
    }
    }
  }

  int64_t nodes;
  at::Tensor features, modes, splits, yes, no, missing, roots, starts, targetOf,
      weights, memberStarts, members;
};

template <typename T>
at::Tensor evaluate(const at::Tensor &x, const TreeTables &tables,
                    int64_t targets, std::string_view aggregate) {
  Ensemble<T> ensemble(tables, x.size(1), targets);
  bool lowest = aggregate == "MIN", highest = aggregate == "MAX";
  bool mean = aggregate == "AVERAGE";
  TORCH_CHECK(
      lowest || highest || mean || aggregate == "SUM",
      "trees are put together by SUM, AVERAGE, MIN or MAX, got: ", aggregate);
  at::Tensor result = at::zeros({x.size(0), targets}, x.options());
  // Which targets a row has met: MIN and MAX start with the first weight.
  std::vector<char> met(targets);
  for (int64_t row = 0; row < x.size(0); ++row) {
    const T *values = x.const_data_ptr<T>() + row * x.size(1);
    T *out = result.mutable_data_ptr<T>() + row * targets;
    std::vector<double> sums(targets);
    std::fill(met.begin(), met.end(), 0);
    for (int64_t tree = 0; tree < ensemble.trees(); ++tree)
      ensemble.follow(tree, values, [&](int64_t target, T weight) {
        double &sum = sums[target];
        if (lowest || highest)
          sum = !met[target] ? weight
                : lowest     ? std::min<double>(sum, weight)
                             : std::max<double>(sum, weight);
        else
          sum += weight;
        met[target] = 1;
      });
    for (int64_t i = 0; i < targets; ++i)
      out[i] = static_cast<T>(mean ? sums[i] / ensemble.trees() : sums[i]);
  }
  return result;
}

} // namespace

at::Tensor
tree_ensemble(const at::Tensor &x, const at::Tensor &features,
              const at::Tensor &modes, const at::Tensor &splits,
              const at::Tensor &true_children, const at::Tensor &false_children,
              const at::Tensor &missing_true, const at::Tensor &roots,
              const at::Tensor &leaf_starts, const at::Tensor &leaf_targets,
              const at::Tensor &leaf_weights, const at::Tensor &member_starts,
              const at::Tensor &members, int64_t targets,
              std::string_view aggregate) {
  TORCH_CHECK(x.dim() == 2,
              "a tree ensemble takes [rows, features], got: ", x.sizes());
  TORCH_CHECK(targets >= 1, "a tree ensemble needs targets, got: ", targets);
  TreeTables tables{features,       modes,        splits,        true_children,
                    false_children, missing_true, roots,         leaf_starts,
                    leaf_targets,   leaf_weights, member_starts, members};
  if (x.scalar_type() == at::kDouble)
    return evaluate<double>(x.cpu().contiguous(), tables, targets, aggregate)
        .to(x.device());
  return evaluate<float>(x.to(at::kCPU, at::kFloat).contiguous(), tables,
                         targets, aggregate)
      .to(x.device());
}

} // namespace hethub::ops
