//===- Resampling.cpp - Resize, GridSample, AffineGrid --------------------===//

#include "Lowering.h"

using namespace mlir;

namespace hethub {

namespace {

/// Scale of each axis as ONNX defines it: given, or the quotient of sizes.
std::optional<SmallVector<double>> scalesOf(Lowering &l) {
  ArrayRef<int64_t> in = Lowering::dims(l.in(0)), out = l.outType().getShape();
  int64_t rank = in.size();
  SmallVector<double> result(rank, 1);
  Dims axes = l.node.integers("axes");
  if (!l.node.attribute("axes"))
    axes = iota(rank);
  for (int64_t &axis : axes)
    axis += axis < 0 ? rank : 0;
  if (l.has(2) && Lowering::typeOf(l.in(2)).getNumElements() > 0) {
    auto scales = l.reals(l.in(2));
    if (!scales)
      return std::nullopt;
    for (auto [i, axis] : llvm::enumerate(axes))
      result[axis] = (*scales)[i];
    return result;
  }
  StringRef policy = l.node.string("keep_aspect_ratio_policy", "stretch");
  if (policy == "stretch") {
    for (int64_t axis : axes)
      result[axis] = double(out[axis]) / in[axis];
    return result;
  }
  auto sizes = l.ints(l.in(3));
  if (!sizes)
    return std::nullopt;
  double common =
      policy == "not_larger" ? std::numeric_limits<double>::infinity() : 0;
  for (auto [i, axis] : llvm::enumerate(axes)) {
    double scale = double((*sizes)[i]) / in[axis];
    common = policy == "not_larger" ? std::min(common, scale)
                                    : std::max(common, scale);
  }
  for (int64_t axis : axes)
    result[axis] = common;
  return result;
}

/// Enlarging by powers of two with every element repeated: LibTorch's own
/// kernel does the same.
bool isPlainUpsampling(Lowering &l, ArrayRef<double> scales) {
  ArrayRef<int64_t> in = Lowering::dims(l.in(0)), out = l.outType().getShape();
  StringRef coordinates =
      l.node.string("coordinate_transformation_mode", "half_pixel");
  StringRef nearest = l.node.string("nearest_mode", "round_prefer_floor");
  bool repeats = (coordinates == "asymmetric" && nearest == "floor") ||
                 (coordinates == "half_pixel" && nearest.starts_with("round"));
  if (l.node.string("mode", "nearest") != "nearest" || !repeats ||
      in.size() < 3 || in.size() > 5 || !isFloat(Lowering::element(l.in(0))))
    return false;
  for (size_t axis = 0; axis < in.size(); ++axis) {
    int64_t factor = in[axis] ? out[axis] / in[axis] : 0;
    bool power = factor > 0 && (factor & (factor - 1)) == 0;
    if (!power || factor != scales[axis] || factor * in[axis] != out[axis] ||
        (axis < 2 && factor != 1))
      return false;
  }
  return true;
}

LogicalResult lowerResize(Lowering &l) {
  Value x = l.in(0);
  ArrayRef<int64_t> out = l.outType().getShape();
  int64_t rank = out.size();
  auto scales = scalesOf(l);
  if (!scales)
    return l.refuse("scales and sizes must be constants");
  if (isPlainUpsampling(l, *scales)) {
    size_t spatial = rank - 2;
    return l.done(l.call(("upsample_nearest" + Twine(spatial) + "d.vec").str(),
                         {x}, {l.arg("output_size", out.drop_front(2))},
                         l.outType()));
  }
  SmallVector<double> roi(2 * rank, 0);
  std::fill(roi.begin() + rank, roi.end(), 1);
  StringRef coordinates =
      l.node.string("coordinate_transformation_mode", "half_pixel");
  if (coordinates == "tf_crop_and_resize") {
    auto given =
        l.has(1) ? l.reals(l.in(1)) : std::optional<SmallVector<double>>();
    if (!given)
      return l.refuse("the region of interest must be a constant");
    Dims axes = l.node.integers("axes");
    if (!l.node.attribute("axes"))
      axes = iota(rank);
    for (auto [i, axis] : llvm::enumerate(axes)) {
      int64_t to = axis < 0 ? axis + rank : axis;
      roi[to] = (*given)[i];
      roi[to + rank] = (*given)[i + axes.size()];
    }
  }
  Type element = Lowering::element(x);
  return l.done(l.call(
      "hethub.resize", {x},
      {l.arg("sizes", out), l.arg("scales", ArrayRef<double>(*scales)),
       l.arg("roi", ArrayRef<double>(roi)),
       l.arg("mode", l.node.string("mode", "nearest")),
       l.arg("coordinates", coordinates),
       l.arg("nearest", l.node.string("nearest_mode", "round_prefer_floor")),
       l.arg("cubic_a", l.node.real("cubic_coeff_a", -0.75)),
       l.arg("exclude_outside", bool(l.node.integer("exclude_outside", 0))),
       l.arg("antialias", bool(l.node.integer("antialias", 0))),
       l.arg("extrapolation", l.node.real("extrapolation_value", 0))},
      Lowering::tensor(out, element)));
}

LogicalResult lowerGridSample(Lowering &l) {
  int64_t mode = llvm::StringSwitch<int64_t>(l.node.string("mode", "linear"))
                     .Cases({"linear", "bilinear"}, 0)
                     .Case("nearest", 1)
                     .Default(2);
  int64_t padding =
      llvm::StringSwitch<int64_t>(l.node.string("padding_mode", "zeros"))
          .Case("zeros", 0)
          .Case("border", 1)
          .Default(2);
  int64_t rank = Lowering::rank(l.in(0));
  if (rank < 4 || rank > 5 || (rank == 5 && mode == 2))
    return l.refuse("only 2 spatial axes, or 3 without cubic interpolation, "
                    "are supported");
  Value grid = l.cast(l.in(1), Lowering::element(l.in(0)));
  return l.done(
      l.call("grid_sampler", {l.in(0), grid},
             {l.arg("interpolation_mode", mode), l.arg("padding_mode", padding),
              l.arg("align_corners", bool(l.node.integer("align_corners", 0)))},
             l.outType()));
}

LogicalResult lowerAffineGrid(Lowering &l) {
  ArrayRef<int64_t> out = l.outType().getShape();
  // The number of channels has no part in the grid.
  Dims size{out[0], 1};
  llvm::append_range(size, out.drop_front(1).drop_back(1));
  return l.done(
      l.call("affine_grid_generator", {l.in(0)},
             {l.arg("size", size),
              l.arg("align_corners", bool(l.node.integer("align_corners", 0)))},
             l.outType()));
}

} // namespace

void addResamplingHandlers(HandlerTable &table) {
  table["Resize"] = lowerResize;
  table["GridSample"] = lowerGridSample;
  table["AffineGrid"] = lowerAffineGrid;
}

} // namespace hethub
