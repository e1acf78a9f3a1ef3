//===- LinearModels.cpp - linear and kernel models of ai.onnx.ml ----------===//

#include "Scores.h"

using namespace mlir;

namespace hethub {

namespace {

/// x [N, F] times the coefficients of `rows` models, plus intercepts; null
/// where their numbers do not fit.
Value linearScores(Lowering &l, Value x, int64_t rows) {
  SmallVector<double> coefficients = l.node.reals("coefficients");
  SmallVector<double> intercepts = l.node.reals("intercepts");
  int64_t features = Lowering::dims(x).back();
  if (static_cast<int64_t>(coefficients.size()) != rows * features ||
      (!intercepts.empty() && static_cast<int64_t>(intercepts.size()) != rows))
    return nullptr;
  Type element = Lowering::element(x);
  Value weight = l.constantReals(coefficients, {rows, features}, element);
  Value bias =
      intercepts.empty() ? Value() : realVector(l, intercepts, element);
  return l.call("linear", {x, weight, bias}, {},
                Lowering::tensor({Lowering::dims(x)[0], rows}, element));
}

/// [N, F], of floats.
Value matrix(Lowering &l) {
  Value x = asReal(l, l.in(0));
  return Lowering::rank(x) == 1 ? l.unsqueeze(x, 0) : x;
}

LogicalResult lowerLinearRegressor(Lowering &l) {
  Value x = matrix(l);
  Value y = linearScores(l, x, l.node.integer("targets", 1));
  if (!y)
    return l.refuse("coefficients must be targets times features");
  y = postTransform(l, y);
  if (!y)
    return l.refuse(unknownPostTransform);
  return l.done(l.cast(y, l.outType().getElementType()));
}

/// The class with the largest score; one row of scores for two classes speaks
/// for the second.
LogicalResult lowerLinearClassifier(Lowering &l) {
  Value x = matrix(l);
  int64_t rows = l.node.reals("coefficients").size() /
                 std::max<int64_t>(Lowering::dims(x).back(), 1);
  int64_t classes = labelCount(l);
  if (rows < 2 && classes != 2)
    return l.refuse("one set of coefficients needs two class labels");
  Value scores = linearScores(l, x, rows);
  if (!scores)
    return l.refuse("coefficients must be classes times features");
  if (rows == 1)
    scores = l.cat({l.unary("neg", scores), scores}, 1);
  scores = postTransform(l, scores);
  if (!scores)
    return l.refuse(unknownPostTransform);
  Value place =
      l.call("argmax", {scores}, {l.arg("dim", 1), l.arg("keepdim", false)},
             Lowering::tensor({Lowering::dims(x)[0]}, l.i64()));
  Value labels = labelsAt(l, place);
  l.replace(1, l.cast(scores, l.outType(1).getElementType()));
  return l.done(labels);
}

/// The kernel between rows of x [N, F] and support vectors [S, F]: [N, S]; null
/// for a kernel that ONNX does not have.
Value kernel(Lowering &l, Value x, Value vectors) {
  SmallVector<double> parameters = l.node.reals("kernel_params");
  parameters.resize(3);
  StringRef name = l.node.string("kernel_type", "LINEAR");
  Value products = l.matmul(x, l.transpose(vectors, 0, 1));
  if (name == "LINEAR")
    return products;
  double gamma = parameters[0], coefficient = parameters[1];
  if (name == "RBF") {
    auto squares = [&](Value v) {
      return l.reduce("sum.dim_IntList", l.binary("mul.Tensor", v, v), {1},
                      true);
    };
    Value distance =
        l.binary("add.Tensor", squares(x), l.transpose(squares(vectors), 0, 1));
    distance =
        l.binary("sub.Tensor", distance, l.withReal("mul.Scalar", products, 2));
    return l.unary("exp", l.withReal("mul.Scalar", distance, -gamma));
  }
  Value moved = l.withReal(
      "add.Scalar", l.withReal("mul.Scalar", products, gamma), coefficient);
  if (name == "POLY")
    return l.withReal("pow.Tensor_Scalar", moved, parameters[2]);
  return name == "SIGMOID" ? l.unary("tanh", moved) : Value();
}

LogicalResult lowerSVMRegressor(Lowering &l) {
  Value x = matrix(l);
  Type element = Lowering::element(x);
  SmallVector<double> coefficients = l.node.reals("coefficients");
  SmallVector<double> rho = l.node.reals("rho");
  int64_t supports = l.node.integer("n_supports", 0);
  int64_t features = Lowering::dims(x).back();
  if (rho.empty())
    return l.refuse("rho must have a number");
  Value y;
  if (supports > 0) {
    SmallVector<double> vectors = l.node.reals("support_vectors");
    if (static_cast<int64_t>(vectors.size()) != supports * features ||
        static_cast<int64_t>(coefficients.size()) != supports)
      return l.refuse("support vectors must be n_supports times features, with "
                      "a coefficient each");
    Value k =
        kernel(l, x, l.constantReals(vectors, {supports, features}, element));
    if (!k)
      return l.refuse("kernel_type must be LINEAR, POLY, RBF or SIGMOID");
    y = l.matmul(k, l.constantReals(coefficients, {supports, 1}, element));
  } else {
    if (static_cast<int64_t>(coefficients.size()) != features)
      return l.refuse("coefficients must be one a feature");
    y = l.matmul(x, l.constantReals(coefficients, {features, 1}, element));
  }
  y = l.withReal("add.Scalar", y, rho.front());
  if (l.node.integer("one_class", 0)) {
    Value inside = l.withReal("gt.Scalar", y, 0, l.boolean());
    y = l.where(inside, l.fullReal({}, 1, element),
                l.fullReal({}, -1, element));
  }
  y = postTransform(l, y);
  if (!y)
    return l.refuse(unknownPostTransform);
  return l.done(l.cast(y, l.outType().getElementType()));
}

/// What two classes have to decide between them, for all pairs i < j of
/// classes: support vectors of class i with row j - 1 of the coefficients,
/// those of class j with row i. As a matrix [vectors, pairs], and who wins
/// where the sum is above 0 (1) or not (-1) [pairs, classes].
struct Duels {
  SmallVector<double> weights, winners, losses;
};

Duels duelsOf(ArrayRef<double> coefficients, ArrayRef<int64_t> perClass) {
  int64_t classes = perClass.size(), vectors = 0;
  Dims starts{0};
  for (int64_t count : perClass)
    starts.push_back(vectors += count);
  int64_t pairs = classes * (classes - 1) / 2;
  Duels d;
  d.weights.assign(vectors * pairs, 0);
  d.winners.assign(pairs * classes, 0);
  d.losses.assign(classes, 0);
  int64_t pair = 0;
  for (int64_t i = 0; i < classes; ++i)
    for (int64_t j = i + 1; j < classes; ++j, ++pair) {
      auto add = [&](int64_t side, int64_t row) {
        for (int64_t v = starts[side]; v < starts[side + 1]; ++v)
          d.weights[v * pairs + pair] = coefficients[row * vectors + v];
      };
      add(i, j - 1);
      add(j, i);
      // A vote for j unless it goes to i.
      d.winners[pair * classes + i] = 1;
      d.winners[pair * classes + j] = -1;
      d.losses[j] += 1;
    }
  return d;
}

/// The probability that the first of a pair is right, kept away from 0 and 1.
Value pairProbability(Lowering &l, Value scores) {
  Value y = l.withReal("mul.Scalar", scores, l.node.reals("prob_a").front());
  y = l.withReal("add.Scalar", y, l.node.reals("prob_b").front());
  y = l.unary("sigmoid", l.unary("neg", y));
  return l.unary("clamp", y, {l.arg("min", 1e-7), l.arg("max", 1 - 1e-7)});
}

/// Scores of all pairs of classes, and the class with most votes.
LogicalResult lowerSVMClassifier(Lowering &l) {
  Value x = matrix(l);
  Type element = Lowering::element(x);
  Dims perClass = l.node.integers("vectors_per_class");
  SmallVector<double> coefficients = l.node.reals("coefficients");
  SmallVector<double> vectors = l.node.reals("support_vectors");
  SmallVector<double> rho = l.node.reals("rho");
  int64_t classes = perClass.size(), features = Lowering::dims(x)[1];
  int64_t count = 0;
  for (int64_t of : perClass)
    count += of;
  if (classes < 2 || labelCount(l) != classes || features < 1)
    return l.refuse("only classifiers with support vectors of each class are "
                    "supported");
  int64_t pairs = classes * (classes - 1) / 2;
  if (static_cast<int64_t>(vectors.size()) != count * features ||
      static_cast<int64_t>(coefficients.size()) != (classes - 1) * count ||
      static_cast<int64_t>(rho.size()) != pairs)
    return l.refuse("support vectors, coefficients and rho must fit "
                    "vectors_per_class");
  bool probable = !l.node.reals("prob_a").empty();
  if (probable && (classes > 2 || l.node.reals("prob_b").empty()))
    return l.refuse("probabilities are supported of two classes only");
  Duels duels = duelsOf(coefficients, perClass);
  Value k = kernel(l, x, l.constantReals(vectors, {count, features}, element));
  if (!k)
    return l.refuse("kernel_type must be LINEAR, POLY, RBF or SIGMOID");
  Value scores = l.binary(
      "add.Tensor",
      l.matmul(k, l.constantReals(duels.weights, {count, pairs}, element)),
      realVector(l, rho, element));
  Value wins = l.cast(l.withReal("gt.Scalar", scores, 0, l.boolean()), element);
  Value votes = l.binary(
      "add.Tensor",
      l.matmul(wins, l.constantReals(duels.winners, {pairs, classes}, element)),
      realVector(l, duels.losses, element));
  Value place =
      l.call("argmax", {votes}, {l.arg("dim", 1), l.arg("keepdim", false)},
             Lowering::tensor({Lowering::dims(x)[0]}, l.i64()));
  Value shown = scores;
  StringRef post = l.node.string("post_transform", "NONE");
  auto fromOne = [&](Value v) {
    return l.unary("rsub.Scalar", v, {l.arg("other", l.real(1))});
  };
  if (probable) {
    Value first = pairProbability(l, scores);
    shown = postTransform(l, l.cat({first, fromOne(first)}, 1));
  } else if (classes > 2) {
    shown = postTransform(l, scores);
  } else if (post == "NONE") {
    shown = l.cat({l.unary("neg", scores), scores}, 1);
  } else if (post == "LOGISTIC") {
    shown = l.unary("sigmoid", l.cat({l.unary("neg", scores), scores}, 1));
  } else {
    shown = post == "PROBIT" ? Value() : l.cat({fromOne(scores), scores}, 1);
  }
  if (!shown)
    return l.refuse(unknownPostTransform);
  l.replace(1, l.cast(shown, l.outType(1).getElementType()));
  return l.done(labelsAt(l, place));
}

} // namespace

void addLinearModelHandlers(HandlerTable &table) {
  table["ai.onnx.ml.LinearClassifier"] = lowerLinearClassifier;
  table["ai.onnx.ml.LinearRegressor"] = lowerLinearRegressor;
  table["ai.onnx.ml.SVMClassifier"] = lowerSVMClassifier;
  table["ai.onnx.ml.SVMRegressor"] = lowerSVMRegressor;
}

} // namespace hethub
