// ONNX Resize: interpolation one axis after the other, as a weighted sum of a
// few shifted selections. Each output position x of an axis comes from source
// coordinate s(x); its taps are the n elements around s, elements outside of
// the axis being those at its border. The gradient goes the same way back: each
// tap's weighted share is added where the tap was read.
#include "hethub/runtime/ops.h"

#include <ATen/ATen.h>

#include <cmath>
#include <optional>

namespace hethub::ops {

namespace {

struct Axis {
  int64_t in, out;
  double scale, roiStart, roiEnd;
};

struct Taps {
  std::vector<std::vector<int64_t>> index; ///< [tap][output position]
  std::vector<std::vector<double>> weight; ///< [tap][output position]
  std::vector<int64_t> outside; ///< positions that get the extrapolation value
};

double sourceOf(std::string_view coordinates, const Axis &a, int64_t x) {
  double width = a.scale * a.in; // may differ from a.out by rounding
  if (coordinates == "align_corners")
    return width == 1 ? 0 : x * (a.in - 1) / (width - 1);
  if (coordinates == "asymmetric")
    return x / a.scale;
  if (coordinates == "tf_crop_and_resize") {
    double extent = (a.roiEnd - a.roiStart) * (a.in - 1);
    double position = width == 1 ? extent / 2 : x * extent / (width - 1);
    return position + a.roiStart * (a.in - 1);
  }
  if (coordinates == "pytorch_half_pixel" && width == 1)
    return -0.5;
  double position = (x + 0.5) / a.scale - 0.5;
  if (coordinates == "half_pixel_symmetric")
    position += a.in / 2.0 * (1 - a.out / width);
  else
    TORCH_CHECK(coordinates == "half_pixel" ||
                    coordinates == "pytorch_half_pixel",
                "resize has no coordinate mode '", coordinates, "'");
  return position;
}

int64_t nearestOf(std::string_view nearest, double source) {
  if (nearest == "round_prefer_floor")
    return static_cast<int64_t>(std::ceil(source - 0.5));
  if (nearest == "round_prefer_ceil")
    return static_cast<int64_t>(std::floor(source + 0.5));
  if (nearest == "floor")
    return static_cast<int64_t>(std::floor(source));
  TORCH_CHECK(nearest == "ceil", "resize has no nearest mode '", nearest, "'");
  return static_cast<int64_t>(std::ceil(source));
}

double cubicWeight(double distance, double a) {
  double x = std::abs(distance);
  if (x <= 1)
    return ((a + 2) * x - (a + 3)) * x * x + 1;
  if (x < 2)
    return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
  return 0;
}

/// Antialiasing widens the kernel when an axis shrinks, and normalises its
/// weights.
Taps interpolate(const Axis &a, std::string_view coordinates, bool cubic,
                 double cubicA, bool excludeOutside, bool antialias) {
  double shrink = antialias ? std::min(a.scale, 1.0) : 1.0;
  int64_t radius = cubic ? 2 : 1;
  int64_t half = static_cast<int64_t>(-std::floor(-radius / shrink));
  int64_t count = 2 * half;
  Taps taps;
  taps.index.assign(count, std::vector<int64_t>(a.out));
  taps.weight.assign(count, std::vector<double>(a.out));
  for (int64_t x = 0; x < a.out; ++x) {
    double source = sourceOf(coordinates, a, x);
    if (coordinates == "tf_crop_and_resize" &&
        (source < 0 || source > a.in - 1))
      taps.outside.push_back(x);
    // The left neighbour; a source on an element has that element to its right.
    double left = std::ceil(source) - 1, ratio = source - left, sum = 0;
    for (int64_t k = 0; k < count; ++k) {
      int64_t offset = k - half + 1;
      int64_t index = static_cast<int64_t>(left) + offset;
      double distance = (offset - ratio) * shrink;
      double weight = cubic ? cubicWeight(distance, cubicA)
                            : std::max(0.0, 1 - std::abs(distance));
      if (excludeOutside && (index < 0 || index >= a.in))
        weight = 0;
      taps.index[k][x] = std::clamp<int64_t>(index, 0, a.in - 1);
      taps.weight[k][x] = weight;
      sum += weight;
    }
    if (excludeOutside || antialias)
      for (int64_t k = 0; k < count; ++k)
        taps.weight[k][x] /= sum;
  }
  return taps;
}

at::Tensor indexTensor(const std::vector<int64_t> &values, at::Device device) {
  return at::tensor(at::ArrayRef<int64_t>(values),
                    at::TensorOptions().dtype(at::kLong))
      .to(device);
}

struct Options {
  at::IntArrayRef in, out; ///< sizes
  at::ArrayRef<double> scales, roi;
  std::string_view mode, coordinates, nearest;
  double cubicA;
  bool excludeOutside, antialias;

  size_t rank() const { return in.size(); }
  bool isNearest() const { return mode == "nearest"; }
  void check() const;
  /// Nothing where the axis stays as it is.
  std::optional<Taps> taps(size_t axis) const;
};

void Options::check() const {
  TORCH_CHECK(out.size() == rank() && scales.size() == rank() &&
                  roi.size() == 2 * rank(),
              "resize needs one size and scale an axis and two ends of the "
              "region of interest");
  TORCH_CHECK(isNearest() || mode == "linear" || mode == "cubic",
              "resize has no mode '", mode, "'");
}

std::optional<Taps> Options::taps(size_t axis) const {
  Axis a{in[axis], out[axis], scales[axis], roi[axis], roi[axis + rank()]};
  bool crops = coordinates == "tf_crop_and_resize";
  bool whole = !crops || (a.roiStart == 0 && a.roiEnd == 1);
  if (a.in == a.out && a.scale == 1 && whole)
    return std::nullopt;
  if (!isNearest())
    return interpolate(a, coordinates, mode == "cubic", cubicA, excludeOutside,
                       antialias);
  Taps taps; // one, without weights
  std::vector<int64_t> &index = taps.index.emplace_back(a.out);
  for (int64_t i = 0; i < a.out; ++i) {
    double source = sourceOf(coordinates, a, i);
    if (crops && (source < 0 || source > a.in - 1))
      taps.outside.push_back(i);
    index[i] = std::clamp<int64_t>(nearestOf(nearest, source), 0, a.in - 1);
  }
  return taps;
}

/// The weights of tap k, shaped to multiply a tensor along the axis; undefined
/// where there are none.
at::Tensor weightTensor(const Taps &taps, size_t k, size_t axis, size_t rank,
                        const at::TensorOptions &like) {
  if (taps.weight.empty())
    return {};
  std::vector<int64_t> shape(rank, 1);
  shape[axis] = taps.weight[k].size();
  return at::tensor(at::ArrayRef<double>(taps.weight[k]),
                    at::TensorOptions().dtype(at::kDouble))
      .to(like)
      .view(shape);
}

} // namespace

at::Tensor resize(const at::Tensor &input, at::IntArrayRef sizes,
                  at::ArrayRef<double> scales, at::ArrayRef<double> roi,
                  std::string_view mode, std::string_view coordinates,
                  std::string_view nearest, double cubicA, bool excludeOutside,
                  bool antialias, double extrapolation) {
  Options options{input.sizes(),  sizes,       scales,  roi,
                  mode,           coordinates, nearest, cubicA,
                  excludeOutside, antialias};
  options.check();
  at::ScalarType type = input.scalar_type();
  at::ScalarType computed = options.isNearest()               ? type
                            : at::isReducedFloatingType(type) ? at::kFloat
                            : at::isFloatingType(type)        ? type
                                                              : at::kDouble;
  at::Tensor x = input.to(computed);
  for (size_t axis = 0; axis < options.rank(); ++axis) {
    std::optional<Taps> taps = options.taps(axis);
    if (!taps)
      continue;
    at::Tensor y;
    for (size_t k = 0; k < taps->index.size(); ++k) {
      at::Tensor part =
          x.index_select(axis, indexTensor(taps->index[k], x.device()));
      at::Tensor weight =
          weightTensor(*taps, k, axis, options.rank(), x.options());
      if (weight.defined())
        part = part.mul(weight);
      y = y.defined() ? y.add(part) : part;
    }
    if (!taps->outside.empty())
      y = y.index_fill(axis, indexTensor(taps->outside, x.device()),
                       extrapolation);
    x = y;
  }
  return x.to(type);
}

at::Tensor resize_backward(const at::Tensor &grad, at::IntArrayRef input_sizes,
                           at::ArrayRef<double> scales,
                           at::ArrayRef<double> roi, std::string_view mode,
                           std::string_view coordinates,
                           std::string_view nearest, double cubicA,
                           bool excludeOutside, bool antialias) {
  Options options{input_sizes,    grad.sizes(), scales,  roi,
                  mode,           coordinates,  nearest, cubicA,
                  excludeOutside, antialias};
  options.check();
  at::ScalarType type = grad.scalar_type();
  at::Tensor g = at::isReducedFloatingType(type) ? grad.to(at::kFloat) : grad;
  for (size_t axis = options.rank(); axis-- > 0;) {
    std::optional<Taps> taps = options.taps(axis);
    if (!taps)
      continue;
    if (!taps->outside.empty())
      g = g.index_fill(axis, indexTensor(taps->outside, g.device()), 0);
    std::vector<int64_t> sizes = g.sizes().vec();
    sizes[axis] = input_sizes[axis];
    at::Tensor sum = at::zeros(sizes, g.options());
    for (size_t k = 0; k < taps->index.size(); ++k) {
      at::Tensor weight =
          weightTensor(*taps, k, axis, options.rank(), g.options());
      sum.index_add_(axis, indexTensor(taps->index[k], g.device()),
                     weight.defined() ? g.mul(weight) : g);
    }
    g = sum;
  }
  return g.to(type);
}

} // namespace hethub::ops
