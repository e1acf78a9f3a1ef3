// What detectors do with boxes: NonMaxSuppression, RoiAlign, MaxRoiPool.
#include "hethub/runtime/ops.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace hethub::ops {

namespace {

//===----------------------------------------------------------------------===//
// NonMaxSuppression
//===----------------------------------------------------------------------===//

struct Box {
  float x1, y1, x2, y2;
  float area() const { return (x2 - x1) * (y2 - y1); }
};

Box boxOf(const float *v, bool centre) {
  if (centre)
    return {v[0] - v[2] / 2, v[1] - v[3] / 2, v[0] + v[2] / 2, v[1] + v[3] / 2};
  return {std::min(v[1], v[3]), std::min(v[0], v[2]), std::max(v[1], v[3]),
          std::max(v[0], v[2])};
}

bool overlap(const Box &a, const Box &b, float threshold) {
  float width = std::min(a.x2, b.x2) - std::max(a.x1, b.x1);
  float height = std::min(a.y2, b.y2) - std::max(a.y1, b.y1);
  if (!(width > 0) || !(height > 0))
    return false;
  float shared = width * height, both = a.area() + b.area() - shared;
  if (a.area() <= 0 || b.area() <= 0 || both <= 0)
    return false;
  return shared / both > threshold;
}

//===----------------------------------------------------------------------===//
// RoiAlign
//===----------------------------------------------------------------------===//

/// Four neighbours of a point, and their shares in it.
struct Sample {
  std::array<int64_t, 4> at{};
  std::array<double, 4> weight{};
};

struct Pooling {
  int64_t height, width, outHeight, outWidth, samplingRatio;
  double scale;
  bool halfPixel;
};

Sample sampleAt(double y, double x, const Pooling &p) {
  if (y < -1 || y > p.height || x < -1 || x > p.width)
    return {};
  y = std::max(y, 0.0);
  x = std::max(x, 0.0);
  int64_t top = std::min<int64_t>(y, p.height - 1);
  int64_t left = std::min<int64_t>(x, p.width - 1);
  if (top == p.height - 1)
    y = top;
  if (left == p.width - 1)
    x = left;
  int64_t bottom = std::min(top + 1, p.height - 1);
  int64_t right = std::min(left + 1, p.width - 1);
  double down = y - top, aside = x - left;
  return {{top * p.width + left, top * p.width + right, bottom * p.width + left,
           bottom * p.width + right},
          {(1 - down) * (1 - aside), (1 - down) * aside, down * (1 - aside),
           down * aside}};
}

/// The samples of all output positions of a region, bin after bin.
struct Samples {
  std::vector<Sample> all;
  int64_t perBin;
};

int64_t gridOf(int64_t samplingRatio, double bin) {
  int64_t grid =
      samplingRatio > 0
          ? samplingRatio
          : static_cast<int64_t>(std::ceil(std::min(std::max(bin, 0.0), 1e6)));
  TORCH_CHECK(grid <= 4096,
              "a bin of a region must have at most 4096 samples "
              "an axis, got: ",
              grid);
  return grid;
}

Samples samplesOf(const double *roi, const Pooling &p) {
  for (int i = 0; i < 4; ++i)
    TORCH_CHECK(std::isfinite(roi[i]), "regions must be finite, got: ", roi[i]);
  double offset = p.halfPixel ? 0.5 : 0;
  double x = roi[0] * p.scale - offset, y = roi[1] * p.scale - offset;
  double width = roi[2] * p.scale - offset - x;
  double height = roi[3] * p.scale - offset - y;
  if (!p.halfPixel) {
    width = std::max(width, 1.0);
    height = std::max(height, 1.0);
  }
  double binHeight = height / p.outHeight, binWidth = width / p.outWidth;
  int64_t rows = gridOf(p.samplingRatio, binHeight);
  int64_t columns = gridOf(p.samplingRatio, binWidth);
  Samples result{{}, rows * columns};
  for (int64_t ph = 0; ph < p.outHeight; ++ph)
    for (int64_t pw = 0; pw < p.outWidth; ++pw)
      for (int64_t i = 0; i < rows; ++i)
        for (int64_t j = 0; j < columns; ++j)
          result.all.push_back(
              sampleAt(y + ph * binHeight + (i + 0.5) * binHeight / rows,
                       x + pw * binWidth + (j + 0.5) * binWidth / columns, p));
  return result;
}

/// Where the largest weighted neighbour of a bin is: (sample, neighbour), or
/// -1 where there is none.
template <typename T>
std::pair<int64_t, int> largestOf(const Sample *samples, int64_t count,
                                  const T *plane) {
  std::pair<int64_t, int> best{-1, 0};
  double largest = 0;
  for (int64_t s = 0; s < count; ++s)
    for (int k = 0; k < 4; ++k) {
      double value = samples[s].weight[k] * plane[samples[s].at[k]];
      if (best.first < 0 || value > largest) {
        largest = value;
        best = {s, k};
      }
    }
  return best;
}

/// Calls `use(region, samples of a bin, their number, plane, output position)`
/// for each channel of each region and each bin.
template <typename Use>
void forEachBin(const at::Tensor &x, const at::Tensor &rois,
                const at::Tensor &batch, const Pooling &p, Use use) {
  int64_t regions = rois.size(0), channels = x.size(1);
  const double *roi = rois.const_data_ptr<double>();
  const int64_t *entry = batch.const_data_ptr<int64_t>();
  for (int64_t r = 0; r < regions; ++r) {
    TORCH_CHECK_INDEX(entry[r] >= 0 && entry[r] < x.size(0), "batch index ",
                      entry[r], " is outside a batch of ", x.size(0));
    Samples samples = samplesOf(roi + 4 * r, p);
    for (int64_t c = 0; c < channels; ++c) {
      int64_t plane = (entry[r] * channels + c) * p.height * p.width;
      for (int64_t bin = 0; bin < p.outHeight * p.outWidth; ++bin)
        use(samples.all.data() + bin * samples.perBin, samples.perBin, plane,
            (r * channels + c) * p.outHeight * p.outWidth + bin);
    }
  }
}

struct RoiInputs {
  at::Tensor x, rois, batch;
  Pooling pooling;
};

RoiInputs checkedRois(const at::Tensor &x, const at::Tensor &rois,
                      const at::Tensor &batch_indices, at::IntArrayRef sizes,
                      int64_t sampling_ratio, double spatial_scale,
                      bool half_pixel) {
  TORCH_CHECK(x.dim() == 4 && x.size(2) > 0 && x.size(3) > 0,
              "regions are pooled from a tensor of rank 4, got: ", x.sizes());
  TORCH_CHECK(
      rois.dim() == 2 && rois.size(1) == 4 && batch_indices.dim() == 1 &&
          batch_indices.size(0) == rois.size(0),
      "regions must be [n, 4] with [n] batch indices, got: ", rois.sizes(),
      " and ", batch_indices.sizes());
  TORCH_CHECK(
      sizes.size() == 2 && sizes[0] > 0 && sizes[1] > 0,
      "the size of pooled regions must be 2 numbers above 0, got: ", sizes);
  at::ScalarType type =
      x.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
  return {x.to(at::kCPU, type).contiguous(),
          rois.to(at::kCPU, at::kDouble).contiguous(),
          batch_indices.to(at::kCPU, at::kLong).contiguous(),
          {x.size(2), x.size(3), sizes[0], sizes[1], sampling_ratio,
           spatial_scale, half_pixel}};
}

template <typename T>
at::Tensor align(const RoiInputs &in, bool largest) {
  const Pooling &p = in.pooling;
  at::Tensor result = at::empty(
      {in.rois.size(0), in.x.size(1), p.outHeight, p.outWidth}, in.x.options());
  const T *from = in.x.const_data_ptr<T>();
  T *to = result.mutable_data_ptr<T>();
  forEachBin(
      in.x, in.rois, in.batch, p,
      [&](const Sample *samples, int64_t count, int64_t plane, int64_t out) {
        const T *values = from + plane;
        if (largest) {
          auto [s, k] = largestOf(samples, count, values);
          to[out] = s < 0 ? T(0)
                          : static_cast<T>(samples[s].weight[k] *
                                           values[samples[s].at[k]]);
          return;
        }
        double sum = 0;
        for (int64_t s = 0; s < count; ++s)
          for (int k = 0; k < 4; ++k)
            sum += samples[s].weight[k] * values[samples[s].at[k]];
        to[out] = static_cast<T>(sum / std::max<int64_t>(count, 1));
      });
  return result;
}

template <typename T>
at::Tensor alignBackward(const at::Tensor &grad, const RoiInputs &in,
                         bool largest) {
  at::Tensor result = at::zeros(in.x.sizes(), in.x.options());
  const T *from = in.x.const_data_ptr<T>();
  const T *incoming = grad.const_data_ptr<T>();
  T *to = result.mutable_data_ptr<T>();
  forEachBin(
      in.x, in.rois, in.batch, in.pooling,
      [&](const Sample *samples, int64_t count, int64_t plane, int64_t out) {
        if (largest) {
          auto [s, k] = largestOf(samples, count, from + plane);
          if (s >= 0)
            to[plane + samples[s].at[k]] +=
                static_cast<T>(incoming[out] * samples[s].weight[k]);
          return;
        }
        for (int64_t s = 0; s < count; ++s)
          for (int k = 0; k < 4; ++k)
            to[plane + samples[s].at[k]] +=
                static_cast<T>(incoming[out] * samples[s].weight[k] / count);
      });
  return result;
}

bool takesLargest(std::string_view mode) {
  TORCH_CHECK(mode == "avg" || mode == "max",
              "regions are pooled by avg or max, got: ", mode);
  return mode == "max";
}

//===----------------------------------------------------------------------===//
// MaxRoiPool
//===----------------------------------------------------------------------===//

/// The place of the largest element of each bin in the flat input; -1 for an
/// empty bin.
template <typename T>
at::Tensor largestPlaces(const at::Tensor &x, const at::Tensor &rois,
                         at::IntArrayRef sizes, double scale) {
  int64_t channels = x.size(1), height = x.size(2), width = x.size(3);
  at::Tensor places =
      at::empty({rois.size(0), channels, sizes[0], sizes[1]}, at::kLong);
  const T *from = x.const_data_ptr<T>();
  const double *roi = rois.const_data_ptr<double>();
  int64_t *to = places.mutable_data_ptr<int64_t>();
  for (int64_t r = 0; r < rois.size(0); ++r, roi += 5) {
    TORCH_CHECK_INDEX(roi[0] >= 0 && roi[0] < x.size(0), "batch index ", roi[0],
                      " is outside a batch of ", x.size(0));
    auto edge = [&](int i) {
      double value = std::round(roi[i] * scale);
      TORCH_CHECK(std::fabs(value) < 1e9,
                  "regions must be finite, got: ", roi[i]);
      return static_cast<int64_t>(value);
    };
    int64_t left = edge(1), top = edge(2);
    double binWidth =
        double(std::max<int64_t>(edge(3) - left + 1, 1)) / sizes[1];
    double binHeight =
        double(std::max<int64_t>(edge(4) - top + 1, 1)) / sizes[0];
    auto range = [](int64_t start, double bin, int64_t i, int64_t size) {
      auto first = static_cast<int64_t>(std::floor(i * bin)) + start;
      auto last = static_cast<int64_t>(std::ceil((i + 1) * bin)) + start;
      return std::pair(std::clamp<int64_t>(first, 0, size),
                       std::clamp<int64_t>(last, 0, size));
    };
    for (int64_t c = 0; c < channels; ++c) {
      int64_t plane =
          (static_cast<int64_t>(roi[0]) * channels + c) * height * width;
      for (int64_t ph = 0; ph < sizes[0]; ++ph) {
        auto [firstRow, lastRow] = range(top, binHeight, ph, height);
        for (int64_t pw = 0; pw < sizes[1]; ++pw) {
          auto [firstColumn, lastColumn] = range(left, binWidth, pw, width);
          int64_t best = -1;
          for (int64_t i = firstRow; i < lastRow; ++i)
            for (int64_t j = firstColumn; j < lastColumn; ++j)
              if (int64_t at = plane + i * width + j;
                  best < 0 || from[at] > from[best])
                best = at;
          *to++ = best;
        }
      }
    }
  }
  return places;
}

at::Tensor poolPlaces(const at::Tensor &x, const at::Tensor &rois,
                      at::IntArrayRef sizes, double scale) {
  TORCH_CHECK(x.dim() == 4 && rois.dim() == 2 && rois.size(1) == 5,
              "regions [n, 5] are pooled from a tensor of rank 4, got: ",
              rois.sizes(), " and ", x.sizes());
  TORCH_CHECK(
      sizes.size() == 2 && sizes[0] > 0 && sizes[1] > 0,
      "the size of pooled regions must be 2 numbers above 0, got: ", sizes);
  at::Tensor regions = rois.to(at::kCPU, at::kDouble).contiguous();
  if (x.scalar_type() == at::kDouble)
    return largestPlaces<double>(x.cpu().contiguous(), regions, sizes, scale);
  return largestPlaces<float>(x.to(at::kCPU, at::kFloat).contiguous(), regions,
                              sizes, scale);
}

} // namespace

at::Tensor non_max_suppression(const at::Tensor &boxes,
                               const at::Tensor &scores,
                               const OptionalTensor &max_output,
                               const OptionalTensor &iou_threshold,
                               const OptionalTensor &score_threshold,
                               bool center_point_box) {
  TORCH_CHECK(boxes.dim() == 3 && boxes.size(2) == 4 && scores.dim() == 3 &&
                  scores.size(0) == boxes.size(0) &&
                  scores.size(2) == boxes.size(1),
              "boxes must be [batch, n, 4] and scores [batch, classes, n], "
              "got: ",
              boxes.sizes(), " and ", scores.sizes());
  auto given = [](const OptionalTensor &x) { return x && x->numel() > 0; };
  int64_t most =
      given(max_output) ? max_output->flatten()[0].item<int64_t>() : 0;
  float overlapLimit =
      given(iou_threshold) ? iou_threshold->flatten()[0].item<float>() : 0;
  float lowest = given(score_threshold)
                     ? score_threshold->flatten()[0].item<float>()
                     : -std::numeric_limits<float>::infinity();
  bool limited = given(score_threshold);
  at::Tensor all = boxes.to(at::kCPU, at::kFloat).contiguous();
  at::Tensor rated = scores.to(at::kCPU, at::kFloat).contiguous();
  const float *corners = all.const_data_ptr<float>();
  const float *rating = rated.const_data_ptr<float>();
  int64_t count = boxes.size(1), classes = scores.size(1);
  std::vector<int64_t> chosen; // batch, class, box
  for (int64_t b = 0; b < boxes.size(0); ++b)
    for (int64_t c = 0; c < classes; ++c) {
      const float *score = rating + (b * classes + c) * count;
      std::vector<int64_t> order;
      for (int64_t i = 0; i < count; ++i)
        if (!std::isnan(score[i]) && (!limited || score[i] > lowest))
          order.push_back(i);
      std::stable_sort(order.begin(), order.end(), [&](int64_t i, int64_t j) {
        return score[i] > score[j];
      });
      std::vector<Box> kept;
      for (int64_t i : order) {
        if (static_cast<int64_t>(kept.size()) >= most)
          break;
        Box box = boxOf(corners + (b * count + i) * 4, center_point_box);
        if (std::any_of(kept.begin(), kept.end(), [&](const Box &other) {
              return overlap(box, other, overlapLimit);
            }))
          continue;
        kept.push_back(box);
        chosen.insert(chosen.end(), {b, c, i});
      }
    }
  int64_t rows = static_cast<int64_t>(chosen.size()) / 3;
  return at::tensor(chosen, at::kLong).reshape({rows, 3}).to(boxes.device());
}

at::Tensor roi_align(const at::Tensor &x, const at::Tensor &rois,
                     const at::Tensor &batch_indices, at::IntArrayRef sizes,
                     std::string_view mode, int64_t sampling_ratio,
                     double spatial_scale, bool half_pixel) {
  RoiInputs in = checkedRois(x, rois, batch_indices, sizes, sampling_ratio,
                             spatial_scale, half_pixel);
  bool largest = takesLargest(mode);
  at::Tensor result = in.x.scalar_type() == at::kDouble
                          ? align<double>(in, largest)
                          : align<float>(in, largest);
  return result.to(x.device(), x.scalar_type());
}

at::Tensor roi_align_backward(const at::Tensor &grad, const at::Tensor &x,
                              const at::Tensor &rois,
                              const at::Tensor &batch_indices,
                              std::string_view mode, int64_t sampling_ratio,
                              double spatial_scale, bool half_pixel) {
  TORCH_CHECK(grad.dim() == 4,
              "gradients of regions must have rank 4, got: ", grad.sizes());
  RoiInputs in = checkedRois(x, rois, batch_indices, grad.sizes().slice(2),
                             sampling_ratio, spatial_scale, half_pixel);
  TORCH_CHECK(grad.size(0) == rois.size(0) && grad.size(1) == x.size(1),
              "gradients do not fit the regions: ", grad.sizes());
  at::Tensor g = grad.to(at::kCPU, in.x.scalar_type()).contiguous();
  bool largest = takesLargest(mode);
  at::Tensor result = in.x.scalar_type() == at::kDouble
                          ? alignBackward<double>(g, in, largest)
                          : alignBackward<float>(g, in, largest);
  return result.to(x.device(), x.scalar_type());
}

at::Tensor max_roi_pool(const at::Tensor &x, const at::Tensor &rois,
                        at::IntArrayRef sizes, double spatial_scale) {
  at::Tensor places = poolPlaces(x, rois, sizes, spatial_scale).to(x.device());
  at::Tensor empty = places.lt(0);
  return x.flatten()
      .index_select(0, places.clamp_min(0).flatten())
      .view(places.sizes())
      .masked_fill(empty, 0);
}

at::Tensor max_roi_pool_backward(const at::Tensor &grad, const at::Tensor &x,
                                 const at::Tensor &rois, double spatial_scale) {
  TORCH_CHECK(grad.dim() == 4,
              "gradients of regions must have rank 4, got: ", grad.sizes());
  at::Tensor places =
      poolPlaces(x, rois, grad.sizes().slice(2), spatial_scale).to(x.device());
  TORCH_CHECK(grad.sizes() == places.sizes(),
              "gradients do not fit the regions: ", grad.sizes());
  at::Tensor g = grad.masked_fill(places.lt(0), 0).flatten();
  return at::zeros({x.numel()}, x.options())
      .index_add_(0, places.clamp_min(0).flatten(), g)
      .view(x.sizes());
}

} // namespace hethub::ops
