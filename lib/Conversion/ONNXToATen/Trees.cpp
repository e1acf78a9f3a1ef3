//===- Trees.cpp - ensembles of decision trees ----------------------------===//
//
// ai.onnx.ml writes them in two ways: TreeEnsemble numbers nodes and leaves,
// the older Classifier and Regressor name nodes by tree and number. Both become
// the tables of hethub.tree_ensemble: a child is a node, or leaf i as -1 - i.
//===----------------------------------------------------------------------===//

#include "Scores.h"

#include "llvm/ADT/DenseMap.h"

#include <set>

using namespace mlir;

namespace hethub {

namespace {

struct Tables {
  Dims features, modes, yes, no, missing, roots;
  SmallVector<double> splits, weights, members;
  Dims leafStarts{0}, targets, memberStarts{0};
  int64_t targetCount = 0;
};

/// Numbers of the comparisons, as TreeEnsemble has them.
int64_t modeOf(StringRef name) {
  return llvm::StringSwitch<int64_t>(name)
      .Case("BRANCH_LEQ", 0)
      .Case("BRANCH_LT", 1)
      .Case("BRANCH_GTE", 2)
      .Case("BRANCH_GT", 3)
      .Case("BRANCH_EQ", 4)
      .Case("BRANCH_NEQ", 5)
      .Default(-1);
}

/// Floats of a list attribute, or of the tensor beside it.
SmallVector<double> realsOf(Lowering &l, const Twine &name) {
  std::string text = name.str();
  auto dense = dyn_cast_or_null<DenseElementsAttr>(
      l.node.attribute(text + "_as_tensor"));
  if (!dense)
    dense = dyn_cast_or_null<DenseElementsAttr>(l.node.attribute(text));
  if (!dense)
    return l.node.reals(text);
  if (!isa<FloatType>(dense.getElementType()))
    return {};
  SmallVector<double> values;
  for (APFloat value : dense.getValues<APFloat>()) {
    bool lossy;
    value.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &lossy);
    values.push_back(value.convertToDouble());
  }
  return values;
}

Value ensemble(Lowering &l, const Tables &t, StringRef aggregate) {
  Value x = asReal(l, l.in(0));
  if (Lowering::rank(x) == 1)
    x = l.unsqueeze(x, 0);
  Type element = Lowering::element(x);
  return l.call(
      "hethub.tree_ensemble",
      {x, l.constantInts(t.features), l.constantInts(t.modes),
       realVector(l, t.splits, element), l.constantInts(t.yes),
       l.constantInts(t.no), l.constantInts(t.missing), l.constantInts(t.roots),
       l.constantInts(t.leafStarts), l.constantInts(t.targets),
       realVector(l, t.weights, element), l.constantInts(t.memberStarts),
       realVector(l, t.members, element)},
      {l.arg("targets", t.targetCount), l.arg("aggregate", aggregate)},
      Lowering::tensor({Lowering::dims(x)[0], t.targetCount}, element));
}

//===----------------------------------------------------------------------===//
// TreeEnsembleClassifier, TreeEnsembleRegressor
//===----------------------------------------------------------------------===//

/// Reads the tables; `prefix` is class or target. False where lists do not fit
/// each other.
bool readNamed(Lowering &l, StringRef prefix, Tables &t) {
  Dims trees = l.node.integers("nodes_treeids");
  Dims numbers = l.node.integers("nodes_nodeids");
  Dims features = l.node.integers("nodes_featureids");
  Dims yes = l.node.integers("nodes_truenodeids");
  Dims no = l.node.integers("nodes_falsenodeids");
  Dims missing = l.node.integers("nodes_missing_value_tracks_true");
  SmallVector<double> splits = realsOf(l, "nodes_values");
  auto modes = dyn_cast_or_null<ArrayAttr>(l.node.attribute("nodes_modes"));
  size_t count = trees.size();
  if (!modes || modes.size() != count || numbers.size() != count ||
      features.size() != count || yes.size() != count || no.size() != count ||
      splits.size() != count)
    return false;
  missing.resize(count, 0);

  // Which node or leaf a (tree, number) is.
  DenseMap<std::pair<int64_t, int64_t>, int64_t> placeOf;
  std::set<int64_t> rooted;
  Dims places;
  int64_t nodes = 0, leaves = 0;
  for (size_t i = 0; i < count; ++i) {
    bool leaf = cast<StringAttr>(modes[i]).getValue() == "LEAF";
    places.push_back(leaf ? -1 - leaves++ : nodes++);
    placeOf[{trees[i], numbers[i]}] = places.back();
    if (rooted.insert(trees[i]).second) // the first node of a tree
      t.roots.push_back(places.back());
  }
  for (size_t i = 0; i < count; ++i) {
    if (places[i] < 0)
      continue;
    auto child = [&](int64_t number) {
      return placeOf.find({trees[i], number});
    };
    auto trueChild = child(yes[i]), falseChild = child(no[i]);
    int64_t mode = modeOf(cast<StringAttr>(modes[i]).getValue());
    if (trueChild == placeOf.end() || falseChild == placeOf.end() || mode < 0)
      return false;
    t.features.push_back(features[i]);
    t.modes.push_back(mode);
    t.splits.push_back(splits[i]);
    t.missing.push_back(missing[i]);
    t.yes.push_back(trueChild->second);
    t.no.push_back(falseChild->second);
  }

  // Entries of each leaf, in the order of the file.
  Dims entryTrees = l.node.integers((prefix + "_treeids").str());
  Dims entryNodes = l.node.integers((prefix + "_nodeids").str());
  Dims ids = l.node.integers((prefix + "_ids").str());
  SmallVector<double> weights = realsOf(l, prefix + "_weights");
  if (entryNodes.size() != entryTrees.size() ||
      ids.size() != entryTrees.size() || weights.size() != entryTrees.size())
    return false;
  std::vector<Dims> entries(leaves);
  for (size_t i = 0; i < ids.size(); ++i) {
    auto found = placeOf.find({entryTrees[i], entryNodes[i]});
    if (found == placeOf.end() || found->second >= 0)
      return false;
    entries[-1 - found->second].push_back(static_cast<int64_t>(i));
  }
  for (const Dims &leaf : entries) {
    for (int64_t i : leaf) {
      t.targets.push_back(ids[i]);
      t.weights.push_back(weights[i]);
    }
    t.leafStarts.push_back(static_cast<int64_t>(t.targets.size()));
  }
  t.memberStarts.assign(t.features.size() + 1, 0);
  return llvm::all_of(t.targets, [&](int64_t target) {
    return target >= 0 && target < t.targetCount;
  });
}

constexpr const char *badTables = "lists of nodes and leaves must fit each "
                                  "other";

LogicalResult lowerTreeRegressor(Lowering &l) {
  Tables t;
  t.targetCount = l.node.integer("n_targets", 1);
  if (!readNamed(l, "target", t))
    return l.refuse(badTables);
  Value y = ensemble(l, t, l.node.string("aggregate_function", "SUM"));
  SmallVector<double> base = realsOf(l, "base_values");
  if (!base.empty()) {
    if (base.size() != 1 && static_cast<int64_t>(base.size()) != t.targetCount)
      return l.refuse("base_values must be one a target");
    y = l.binary("add.Tensor", y, realVector(l, base, Lowering::element(y)));
  }
  y = postTransform(l, y);
  if (!y)
    return l.refuse(unknownPostTransform);
  return l.done(l.cast(y, l.outType().getElementType()));
}

/// Scores of two classes of which the trees rate one: the other one has what is
/// left, of 1 where all weights are positive, else of 0.
LogicalResult oneRated(Lowering &l, Value scores, const Tables &t) {
  int64_t rated = t.targets.front();
  SmallVector<double> base = realsOf(l, "base_values");
  if (base.size() > 1)
    return l.refuse("two base values for one rated class have no one meaning");
  bool positive = llvm::all_of(t.weights, [](double w) { return w >= 0; });
  Value score = l.slice(scores, 1, rated, rated + 1);
  if (rated == 0 && !base.empty())
    score = l.withReal("add.Scalar", score, base.front());
  Value second =
      l.withReal("gt.Scalar", score, positive ? 0.5 : 0, l.boolean());
  StringRef post = l.node.string("post_transform", "NONE");
  Value both;
  if (rated == 1) {
    both = postTransform(l, scores);
  } else if (post == "LOGISTIC") {
    both = l.unary("sigmoid", l.cat({l.unary("neg", score), score}, 1));
  } else if (post != "PROBIT") {
    Value other =
        positive ? l.unary("rsub.Scalar", score, {l.arg("other", l.real(1))})
                 : l.unary("neg", score);
    both = l.cat({other, score}, 1);
  }
  if (!both)
    return l.refuse(unknownPostTransform);
  Value labels = labelsAt(l, l.cast(l.squeeze(second, {1}), l.i64()));
  l.replace(1, l.cast(both, l.outType(1).getElementType()));
  return l.done(labels);
}

LogicalResult lowerTreeClassifier(Lowering &l) {
  Tables t;
  t.targetCount = labelCount(l);
  if (t.targetCount < 1 || !readNamed(l, "class", t))
    return l.refuse(badTables);
  Value scores = ensemble(l, t, "SUM");
  bool single =
      std::set<int64_t>(t.targets.begin(), t.targets.end()).size() == 1;
  if (t.targetCount == 2 && single)
    return oneRated(l, scores, t);
  SmallVector<double> base = realsOf(l, "base_values");
  if (!base.empty()) {
    if (static_cast<int64_t>(base.size()) > t.targetCount)
      return l.refuse("base_values must be one a class");
    base.resize(t.targetCount, 0);
    scores = l.binary("add.Tensor", scores,
                      realVector(l, base, Lowering::element(scores)));
  }
  Value place =
      l.call("argmax", {scores}, {l.arg("dim", 1), l.arg("keepdim", false)},
             Lowering::tensor({Lowering::dims(scores)[0]}, l.i64()));
  Value labels = labelsAt(l, place);
  scores = postTransform(l, scores);
  if (!scores)
    return l.refuse(unknownPostTransform);
  l.replace(1, l.cast(scores, l.outType(1).getElementType()));
  return l.done(labels);
}

//===----------------------------------------------------------------------===//
// TreeEnsemble
//===----------------------------------------------------------------------===//

bool readNumbered(Lowering &l, Tables &t) {
  t.features = l.node.integers("nodes_featureids");
  t.splits = realsOf(l, "nodes_splits");
  t.missing = l.node.integers("nodes_missing_value_tracks_true");
  t.targets = l.node.integers("leaf_targetids");
  t.weights = realsOf(l, "leaf_weights");
  auto modes =
      dyn_cast_or_null<DenseElementsAttr>(l.node.attribute("nodes_modes"));
  Dims yes = l.node.integers("nodes_truenodeids");
  Dims no = l.node.integers("nodes_falsenodeids");
  Dims yesIsLeaf = l.node.integers("nodes_trueleafs");
  Dims noIsLeaf = l.node.integers("nodes_falseleafs");
  size_t count = t.features.size();
  t.missing.resize(count, 0);
  int64_t leaves = static_cast<int64_t>(t.targets.size());
  if (!modes || !isa<IntegerType>(modes.getElementType()) ||
      t.splits.size() != count || yes.size() != count || no.size() != count ||
      yesIsLeaf.size() != count || noIsLeaf.size() != count ||
      static_cast<size_t>(modes.getNumElements()) != count ||
      t.weights.size() != t.targets.size())
    return false;
  for (const APInt &mode : modes.getValues<APInt>())
    t.modes.push_back(static_cast<int64_t>(mode.getZExtValue()));
  auto child = [&](int64_t number, bool leaf) {
    return leaf ? -1 - number : number;
  };
  for (size_t i = 0; i < count; ++i) {
    t.yes.push_back(child(yes[i], yesIsLeaf[i]));
    t.no.push_back(child(no[i], noIsLeaf[i]));
  }
  // A tree that is but a leaf is a node both of whose children are that leaf.
  t.roots = l.node.integers("tree_roots");
  for (int64_t i = 0; i < leaves; ++i)
    t.leafStarts.push_back(i + 1);
  // Sets of members stand in the order of the nodes, each ended by NaN.
  SmallVector<double> members = realsOf(l, "membership_values");
  auto next = members.begin();
  for (int64_t mode : t.modes) {
    if (mode == 6) {
      for (; next != members.end() && !std::isnan(*next); ++next)
        t.members.push_back(*next);
      if (next == members.end())
        return false;
      ++next;
    }
    t.memberStarts.push_back(static_cast<int64_t>(t.members.size()));
  }
  return llvm::all_of(t.targets, [&](int64_t target) {
    return target >= 0 && target < t.targetCount;
  });
}

/// Functions and transforms are numbers here.
LogicalResult lowerTreeEnsemble(Lowering &l) {
  Tables t;
  t.targetCount = l.node.integer("n_targets", 1);
  if (!readNumbered(l, t))
    return l.refuse(badTables);
  int64_t aggregate = l.node.integer("aggregate_function", 1);
  static constexpr const char *aggregates[] = {"AVERAGE", "SUM", "MIN", "MAX"};
  if (aggregate < 0 || aggregate > 3)
    return l.refuse("aggregate_function must be 0 to 3, got: " +
                    Twine(aggregate));
  int64_t transform = l.node.integer("post_transform", 0);
  static constexpr const char *transforms[] = {"NONE", "SOFTMAX", "LOGISTIC",
                                               "SOFTMAX_ZERO", "PROBIT"};
  if (transform < 0 || transform > 4)
    return l.refuse("post_transform must be 0 to 4, got: " + Twine(transform));
  Value y = ensemble(l, t, aggregates[aggregate]);
  y = postTransform(l, y, transforms[transform]);
  return l.done(l.cast(y, l.outType().getElementType()));
}

} // namespace

void addTreeHandlers(HandlerTable &table) {
  table["ai.onnx.ml.TreeEnsemble"] = lowerTreeEnsemble;
  table["ai.onnx.ml.TreeEnsembleClassifier"] = lowerTreeClassifier;
  table["ai.onnx.ml.TreeEnsembleRegressor"] = lowerTreeRegressor;
}

} // namespace hethub
