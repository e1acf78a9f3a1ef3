// Operators whose sizes, axes or counts come as tensors: what the compiler
// writes into a call where it knows them, these read when they run.
#include "hethub/runtime/DynamicOps.h"
#include "hethub/runtime/ops.h"

#include <ATen/ATen.h>
#include <ATen/Dispatch.h>
#include <ATen/ExpandUtils.h>

#include <cmath>
#include <limits>
#include <numeric>

namespace hethub::ops {

namespace {

using Sizes = std::vector<int64_t>;

/// The elements of a tensor of integers.
Sizes numbers(const at::Tensor &x) {
  at::Tensor wide = x.to(at::kCPU, at::kLong).contiguous();
  const int64_t *data = wide.const_data_ptr<int64_t>();
  return {data, data + wide.numel()};
}

std::vector<double> reals(const at::Tensor &x) {
  at::Tensor wide = x.to(at::kCPU, at::kDouble).contiguous();
  const double *data = wide.const_data_ptr<double>();
  return {data, data + wide.numel()};
}

int64_t number(const at::Tensor &x, const char *what) {
  TORCH_CHECK_VALUE(x.numel() == 1, what,
                    " must be one number, got: ", x.numel());
  return numbers(x).front();
}

int64_t wrapAxis(int64_t axis, int64_t rank) {
  TORCH_CHECK_INDEX(axis >= -rank && axis < rank, "axis ", axis,
                    " is outside of rank ", rank);
  return axis < 0 ? axis + rank : axis;
}

Sizes wrapAxes(Sizes axes, int64_t rank) {
  for (int64_t &axis : axes)
    axis = wrapAxis(axis, rank);
  return axes;
}

/// The axes that a tensor lists, else all of them.
Sizes axesOf(const OptionalTensor &axes, int64_t rank) {
  if (axes)
    return wrapAxes(numbers(*axes), rank);
  Sizes all(static_cast<size_t>(rank));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

void checkSizes(const Sizes &sizes) {
  int64_t elements = 1;
  for (int64_t size : sizes) {
    TORCH_CHECK_VALUE(size >= 0, "a size must not be negative, got: ", size);
    TORCH_CHECK_VALUE(!__builtin_mul_overflow(elements, size, &elements),
                      "a tensor of that many elements cannot be");
  }
}

at::Tensor position(const at::Tensor &like, int64_t value) {
  return at::full({}, value, like.options().dtype(at::kLong));
}

} // namespace

//===----------------------------------------------------------------------===//
// Shapes
//===----------------------------------------------------------------------===//

at::Tensor reshape_to(const at::Tensor &x, const at::Tensor &shape,
                      bool allow_zero) {
  Sizes sizes = numbers(shape);
  for (size_t i = 0; i < sizes.size() && !allow_zero; ++i)
    if (sizes[i] == 0) {
      TORCH_CHECK_VALUE(static_cast<int64_t>(i) < x.dim(),
                        "a size of 0 copies an axis that is not there: ", i);
      sizes[i] = x.size(static_cast<int64_t>(i));
    }
  return at::reshape(x, sizes);
}

at::Tensor flatten_at(const at::Tensor &x, int64_t axis) {
  axis = axis < 0 ? axis + x.dim() : axis;
  TORCH_CHECK_INDEX(axis >= 0 && axis <= x.dim(), "axis ", axis,
                    " is outside of rank ", x.dim());
  int64_t rows =
      c10::multiply_integers(x.sizes().slice(0, static_cast<size_t>(axis)));
  int64_t columns =
      c10::multiply_integers(x.sizes().slice(static_cast<size_t>(axis)));
  return at::reshape(x, {rows, columns});
}

at::Tensor expand_to(const at::Tensor &x, const at::Tensor &shape) {
  Sizes sizes = numbers(shape);
  checkSizes(sizes);
  return x.expand(at::infer_size(x.sizes(), sizes));
}

at::Tensor tile_by(const at::Tensor &x, const at::Tensor &repeats) {
  return x.repeat(numbers(repeats));
}

at::Tensor squeeze_by(const at::Tensor &x, const OptionalTensor &axes) {
  if (!axes)
    return x.squeeze();
  Sizes dims = wrapAxes(numbers(*axes), x.dim());
  for (int64_t dim : dims)
    TORCH_CHECK_VALUE(x.size(dim) == 1, "axis ", dim,
                      " to squeeze must have size 1, got: ", x.size(dim));
  return x.squeeze(dims);
}

at::Tensor unsqueeze_by(const at::Tensor &x, const at::Tensor &axes) {
  Sizes dims = numbers(axes);
  dims = wrapAxes(dims, x.dim() + static_cast<int64_t>(dims.size()));
  std::sort(dims.begin(), dims.end());
  at::Tensor y = x;
  for (int64_t dim : dims)
    y = y.unsqueeze(dim);
  return y;
}

at::Tensor shape_of(const at::Tensor &x, int64_t start, int64_t end) {
  int64_t rank = x.dim();
  auto clamp = [&](int64_t at) {
    return std::clamp<int64_t>(at < 0 ? at + rank : at, 0, rank);
  };
  int64_t from = clamp(start), to = std::max(from, clamp(end));
  Sizes sizes(x.sizes().begin() + from, x.sizes().begin() + to);
  return at::tensor(sizes, at::TensorOptions(at::kLong)).to(x.device());
}

at::Tensor size_of(const at::Tensor &x) { return position(x, x.numel()); }

at::Tensor constant_of_shape(const at::Tensor &shape, const at::Tensor &value) {
  Sizes sizes = numbers(shape);
  checkSizes(sizes);
  return value.reshape({}).expand(sizes).contiguous();
}

//===----------------------------------------------------------------------===//
// Parts
//===----------------------------------------------------------------------===//

at::Tensor slice_by(const at::Tensor &x, const at::Tensor &starts,
                    const at::Tensor &ends, const OptionalTensor &axes,
                    const OptionalTensor &steps) {
  Sizes from = numbers(starts), to = numbers(ends);
  Sizes dims = axes ? wrapAxes(numbers(*axes), x.dim()) : Sizes();
  Sizes strides = steps ? numbers(*steps) : Sizes(from.size(), 1);
  TORCH_CHECK_VALUE(to.size() == from.size() && strides.size() == from.size() &&
                        (!axes || dims.size() == from.size()),
                    "starts, ends, axes and steps must have one length");
  at::Tensor y = x;
  for (size_t i = 0; i < from.size(); ++i) {
    int64_t dim = axes ? dims[i] : static_cast<int64_t>(i);
    TORCH_CHECK_INDEX(dim < x.dim(), "more starts than axes");
    int64_t size = y.size(dim), step = strides[i];
    TORCH_CHECK_VALUE(step != 0, "a step must not be 0");
    auto clamp = [&](int64_t at, int64_t low, int64_t high) {
      return std::clamp(at < 0 ? at + size : at, low, high);
    };
    if (size == 0)
      continue;
    if (step < 0) {
      // Positions start, start + step, ... above end, in the flipped tensor.
      int64_t first = clamp(from[i], -1, size - 1);
      int64_t end = clamp(to[i], -1, size - 1);
      int64_t begin = size - 1 - first;
      int64_t stride =
          step == std::numeric_limits<int64_t>::min() ? size : -step;
      y = y.flip({dim}).slice(dim, begin, std::max(begin, size - 1 - end),
                              std::min(stride, size));
      continue;
    }
    int64_t first = clamp(from[i], 0, size);
    y = y.slice(dim, first, std::max(first, clamp(to[i], 0, size)),
                std::min(step, size));
  }
  return y;
}

at::Tensor split_part(const at::Tensor &x, const OptionalTensor &split,
                      int64_t axis, int64_t parts, int64_t index) {
  axis = wrapAxis(axis, x.dim());
  int64_t size = x.size(axis), start = 0, length = 0;
  if (split) {
    Sizes lengths = numbers(*split);
    TORCH_CHECK_VALUE(static_cast<int64_t>(lengths.size()) == parts,
                      "split must have ", parts,
                      " sizes, got: ", lengths.size());
    checkSizes(lengths);
    TORCH_CHECK_VALUE(
        std::accumulate(lengths.begin(), lengths.end(), int64_t(0)) == size,
        "sizes of a split must sum up to ", size);
    start =
        std::accumulate(lengths.begin(), lengths.begin() + index, int64_t(0));
    length = lengths[static_cast<size_t>(index)];
  } else {
    int64_t chunk = (size + parts - 1) / parts;
    start = std::min(size, index * chunk);
    length = std::min(size, start + chunk) - start;
  }
  return x.narrow(axis, start, length);
}

at::Tensor gather_at(const at::Tensor &x, const at::Tensor &index,
                     int64_t axis) {
  axis = wrapAxis(axis, x.dim());
  at::Tensor wrapped = wrap_index(index, x.size(axis));
  Sizes sizes(x.sizes().begin(), x.sizes().begin() + axis);
  sizes.insert(sizes.end(), index.sizes().begin(), index.sizes().end());
  sizes.insert(sizes.end(), x.sizes().begin() + axis + 1, x.sizes().end());
  return x.index_select(axis, wrapped.reshape({-1})).reshape(sizes);
}

at::Tensor gather_elements(const at::Tensor &x, const at::Tensor &index,
                           int64_t axis) {
  return at::gather(x, axis, wrap_index(index, x.size(axis)));
}

std::tuple<at::Tensor, at::Tensor>
top_k_of(const at::Tensor &x, const at::Tensor &k, int64_t axis, bool largest) {
  int64_t count = number(k, "k");
  TORCH_CHECK_VALUE(count >= 0 && count <= x.size(axis), "k must be from 0 to ",
                    x.size(axis), ", got: ", count);
  // Of equal elements the first stands first.
  auto [values, indices] = at::sort(x, /*stable=*/true, axis, largest);
  return {values.narrow(axis, 0, count), indices.narrow(axis, 0, count)};
}

at::Tensor gather_nd(const at::Tensor &x, const at::Tensor &index,
                     int64_t batch_axes) {
  int64_t last = index.dim() - 1, columns = index.size(-1);
  TORCH_CHECK_INDEX(batch_axes >= 0 && batch_axes <= last &&
                        batch_axes + columns <= x.dim(),
                    "rows of ", columns, " indices behind ", batch_axes,
                    " axes are too long for rank ", x.dim());
  c10::List<std::optional<at::Tensor>> indices;
  for (int64_t axis = 0; axis < batch_axes; ++axis) {
    Sizes shape(static_cast<size_t>(last), 1);
    shape[static_cast<size_t>(axis)] = index.size(axis);
    indices.push_back(
        at::arange(index.size(axis), index.options()).reshape(shape));
  }
  for (int64_t column = 0; column < columns; ++column)
    indices.push_back(
        wrap_index(index.select(last, column), x.size(batch_axes + column)));
  return at::index(x, indices);
}

namespace {
/// LibTorch's name of a reduction; empty for none.
std::string_view reductionOf(std::string_view name) {
  constexpr std::pair<std::string_view, std::string_view> names[] = {
      {"none", ""},
      {"add", "sum"},
      {"mul", "prod"},
      {"max", "amax"},
      {"min", "amin"}};
  for (auto [onnx, torch] : names)
    if (name == onnx)
      return torch;
  TORCH_CHECK_VALUE(false, "scatter has no reduction '", name, "'");
}

at::Tensor scatterOn(const at::Tensor &x, int64_t axis, const at::Tensor &at,
                     const at::Tensor &updates, std::string_view reduction) {
  std::string_view kind = reductionOf(reduction);
  return kind.empty() ? at::scatter(x, axis, at, updates)
                      : at::scatter_reduce(x, axis, at, updates, kind);
}
} // namespace

at::Tensor scatter_elements(const at::Tensor &x, const at::Tensor &index,
                            const at::Tensor &updates, int64_t axis,
                            std::string_view reduction) {
  axis = wrapAxis(axis, x.dim());
  return scatterOn(x, axis, wrap_index(index, x.size(axis)), updates,
                   reduction);
}

/// On all elements in one row: each row of indices names a run of them.
at::Tensor scatter_nd(const at::Tensor &x, const at::Tensor &index,
                      const at::Tensor &updates, std::string_view reduction) {
  int64_t columns = index.size(-1);
  TORCH_CHECK_INDEX(columns <= x.dim(), "rows of ", columns,
                    " indices are too long for rank ", x.dim());
  int64_t run =
      c10::multiply_integers(x.sizes().slice(static_cast<size_t>(columns)));
  at::IntArrayRef rows =
      index.sizes().slice(0, static_cast<size_t>(index.dim() - 1));
  at::Tensor start = at::zeros(rows, index.options().dtype(at::kLong));
  for (int64_t column = 0; column < columns; ++column)
    start = start * x.size(column) +
            wrap_index(index.select(-1, column), x.size(column));
  at::Tensor place =
      (start.reshape({-1, 1}) * run + at::arange(run, start.options()))
          .reshape({-1});
  TORCH_CHECK_VALUE(updates.numel() == place.numel(), "updates must have ",
                    place.numel(), " elements, got: ", updates.numel());
  return scatterOn(x.reshape({-1}), 0, place, updates.reshape({-1}), reduction)
      .reshape(x.sizes());
}

at::Tensor triangle_of(const at::Tensor &x, const at::Tensor &k, bool upper) {
  int64_t diagonal = number(k, "the diagonal");
  return upper ? x.triu(diagonal) : x.tril(diagonal);
}

//===----------------------------------------------------------------------===//
// Padding
//===----------------------------------------------------------------------===//

namespace {
/// Where position `at` around an axis of `size` elements reads its value.
int64_t sourceOf(std::string_view mode, int64_t at, int64_t size) {
  if (mode == "edge")
    return std::clamp<int64_t>(at, 0, size - 1);
  if (mode == "wrap")
    return ((at % size) + size) % size;
  TORCH_CHECK_VALUE(mode == "reflect", "pad has no mode '", mode, "'");
  int64_t period = std::max<int64_t>(1, 2 * (size - 1));
  at = ((at % period) + period) % period;
  return at < size ? at : period - at;
}
} // namespace

at::Tensor pad_by(const at::Tensor &x, const at::Tensor &pads,
                  const OptionalTensor &value, const OptionalTensor &axes,
                  std::string_view mode) {
  Sizes amounts = numbers(pads), dims = axesOf(axes, x.dim());
  TORCH_CHECK_VALUE(amounts.size() == 2 * dims.size(), "pads must have ",
                    2 * dims.size(), " numbers, got: ", amounts.size());
  Sizes before(static_cast<size_t>(x.dim()), 0), after = before;
  for (size_t i = 0; i < dims.size(); ++i) {
    before[static_cast<size_t>(dims[i])] = amounts[i];
    after[static_cast<size_t>(dims[i])] = amounts[i + dims.size()];
  }
  if (mode == "constant") {
    Sizes pairs;
    for (int64_t dim = x.dim() - 1; dim >= 0; --dim)
      for (const Sizes *side : {&before, &after})
        pairs.push_back((*side)[static_cast<size_t>(dim)]);
    at::Scalar fill = 0;
    if (value)
      fill = value->reshape({}).item();
    return at::constant_pad_nd(x, pairs, fill);
  }
  at::Tensor y = x;
  for (int64_t dim = 0; dim < x.dim(); ++dim) {
    int64_t low = before[static_cast<size_t>(dim)];
    int64_t high = after[static_cast<size_t>(dim)], size = x.size(dim);
    if (low == 0 && high == 0)
      continue;
    TORCH_CHECK_VALUE(size > 0, "an empty axis has nothing to pad with");
    Sizes sources;
    for (int64_t at = -low; at < size + high; ++at)
      sources.push_back(sourceOf(mode, at, size));
    y = y.index_select(dim, at::tensor(sources, at::kLong).to(x.device()));
  }
  return y;
}

at::Tensor center_crop_pad_by(const at::Tensor &x, const at::Tensor &shape,
                              at::IntArrayRef axes) {
  Sizes wanted = numbers(shape), pairs(2 * static_cast<size_t>(x.dim()), 0);
  TORCH_CHECK_VALUE(wanted.size() == axes.size(), "shape must have ",
                    axes.size(), " sizes, got: ", wanted.size());
  checkSizes(wanted);
  for (size_t i = 0; i < wanted.size(); ++i) {
    int64_t dim = wrapAxis(axes[i], x.dim());
    int64_t grow = wanted[i] - x.size(dim), half = std::abs(grow) / 2;
    int64_t sign = grow < 0 ? -1 : 1;
    // LibTorch lists pairs from the last axis on; an odd element is at the end.
    auto pair = 2 * static_cast<size_t>(x.dim() - 1 - dim);
    pairs[pair] = sign * half;
    pairs[pair + 1] = sign * (std::abs(grow) - half);
  }
  return at::constant_pad_nd(x, pairs, 0);
}

at::Tensor col2im_by(const at::Tensor &x, const at::Tensor &image_shape,
                     const at::Tensor &block_shape, at::IntArrayRef dilations,
                     at::IntArrayRef pads, at::IntArrayRef strides) {
  Sizes image = numbers(image_shape), block = numbers(block_shape);
  size_t axes = image.size();
  TORCH_CHECK_VALUE(block.size() == axes && dilations.size() == axes &&
                        strides.size() == axes && pads.size() == 2 * axes,
                    "image, block, dilations, strides and pads must have one "
                    "number of axes");
  checkSizes(image);
  checkSizes(block);
  int64_t points = c10::multiply_integers(image);
  int64_t offsets = c10::multiply_integers(block);
  TORCH_CHECK_VALUE(x.dim() == 3 && offsets > 0 && x.size(1) % offsets == 0,
                    "input must be [N, C * product(block), L]");
  // Where each offset of each column lies in the image; behind its end:
  // nowhere.
  auto options = at::TensorOptions(at::kLong).device(x.device());
  at::Tensor place = at::zeros({1, 1}, options);
  at::Tensor inside = at::ones({1, 1}, options.dtype(at::kBool));
  for (size_t axis = 0; axis < axes; ++axis) {
    int64_t extent = (block[axis] - 1) * dilations[axis] + 1;
    int64_t steps = (image[axis] + pads[axis] + pads[axis + axes] - extent) /
                        strides[axis] +
                    1;
    TORCH_CHECK_VALUE(steps > 0, "a block must fit into the padded image");
    at::Tensor at =
        (at::arange(block[axis], options) * dilations[axis]).unsqueeze(1) +
        at::arange(steps, options) * strides[axis] - pads[axis];
    at::Tensor fits = at.ge(0).logical_and(at.lt(image[axis]));
    auto combine = [&](const at::Tensor &outer, const at::Tensor &inner,
                       bool isPlace) {
      at::Tensor a = outer.unsqueeze(1).unsqueeze(3);
      at::Tensor b = inner.unsqueeze(0).unsqueeze(2);
      at::Tensor both = isPlace ? a * image[axis] + b : a.logical_and(b);
      return both.reshape(
          {outer.size(0) * inner.size(0), outer.size(1) * inner.size(1)});
    };
    place = combine(place, at, true);
    inside = combine(inside, fits, false);
  }
  TORCH_CHECK_VALUE(place.size(1) == x.size(2), "input must have ",
                    place.size(1), " columns, got: ", x.size(2));
  place = at::where(inside, place, at::full({}, points, options)).reshape({-1});
  int64_t channels = x.size(1) / offsets;
  at::Tensor y = at::zeros({x.size(0), channels, points + 1}, x.options());
  y = y.index_add(2, place, x.reshape({x.size(0), channels, -1}));
  Sizes sizes{x.size(0), channels};
  sizes.insert(sizes.end(), image.begin(), image.end());
  return y.narrow(2, 0, points).reshape(sizes);
}

at::Tensor element_of(const at::Tensor &x, const at::Tensor &index,
                      int64_t axis, bool reverse) {
  int64_t at = number(index, "an index"), size = x.size(axis);
  return x.select(axis, reverse ? size - 1 - at : at);
}

//===----------------------------------------------------------------------===//
// Makers
//===----------------------------------------------------------------------===//

at::Tensor range_of(const at::Tensor &start, const at::Tensor &limit,
                    const at::Tensor &delta) {
  at::ScalarType dtype = start.scalar_type();
  if (at::isIntegralType(dtype, /*includeBool=*/false)) {
    int64_t from = number(start, "start"), to = number(limit, "limit");
    int64_t step = number(delta, "delta");
    TORCH_CHECK_VALUE(step != 0, "the step of a range must not be 0");
    bool empty = step > 0 ? from >= to : from <= to;
    return at::arange(from, empty ? from : to, step,
                      start.options().dtype(dtype));
  }
  double from = reals(start).front(), step = reals(delta).front();
  double count = std::ceil((reals(limit).front() - from) / step);
  TORCH_CHECK_VALUE(std::isfinite(count) && count < 9e15,
                    "a range must have an end, got a count of: ", count);
  at::ScalarType computed = dtype == at::kDouble ? at::kDouble : at::kFloat;
  at::Tensor positions =
      at::arange(std::max(count, 0.0), start.options().dtype(at::kLong))
          .to(computed);
  return (positions * delta.reshape({}).to(computed) +
          start.reshape({}).to(computed))
      .to(dtype);
}

at::Tensor one_hot_of(const at::Tensor &index, const at::Tensor &depth,
                      const at::Tensor &values, int64_t axis) {
  int64_t count = number(depth, "depth"), rank = index.dim() + 1;
  TORCH_CHECK_VALUE(count >= 0, "depth must not be negative, got: ", count);
  axis = wrapAxis(axis, rank);
  at::Tensor wide = index.to(at::kLong);
  wide = at::where(wide.lt(0), wide.add(count), wide).unsqueeze(axis);
  Sizes shape(static_cast<size_t>(rank), 1);
  shape[static_cast<size_t>(axis)] = count;
  at::Tensor positions = at::arange(count, wide.options()).reshape(shape);
  return at::where(wide.eq(positions), values.select(0, 1),
                   values.select(0, 0));
}

at::Tensor affine_grid_of(const at::Tensor &theta, const at::Tensor &size,
                          bool align_corners) {
  return at::affine_grid_generator(theta, numbers(size), align_corners);
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

namespace {
/// What a reduction of no elements gives.
at::Tensor ofNothing(const at::Tensor &x, const Sizes &sizes,
                     std::string_view kind) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  bool low = kind == "Max";
  if ((low || kind == "Min") && !x.is_floating_point()) {
    at::Tensor end = at::empty({}, x.options());
    AT_DISPATCH_INTEGRAL_TYPES_AND(
        at::kBool, x.scalar_type(), "ofNothing", [&] {
          using limits = std::numeric_limits<scalar_t>;
          end.fill_(low ? limits::lowest() : limits::max());
        });
    return end.expand(sizes).contiguous();
  }
  double value = 0;
  if (kind == "Prod")
    value = 1;
  else if (low || kind == "LogSum" || kind == "LogSumExp")
    value = -infinity;
  else if (kind == "Min")
    value = infinity;
  else if (kind == "Mean")
    value = std::nan("");
  if (!x.is_floating_point() && !std::isfinite(value))
    value = 0;
  return at::full(sizes, value, x.options());
}

at::Tensor productOver(const at::Tensor &x, const Sizes &dims, bool keep) {
  at::Tensor y = x;
  for (auto dim = dims.rbegin(); dim != dims.rend(); ++dim)
    y = y.prod(*dim, keep, x.scalar_type());
  return y;
}
} // namespace

at::Tensor reduce_by(const at::Tensor &x, const OptionalTensor &axes,
                     std::string_view kind, bool keep, bool nothing_if_empty) {
  Sizes dims = axes ? wrapAxes(numbers(*axes), x.dim()) : Sizes();
  if (dims.empty()) {
    if (nothing_if_empty && kind != "SumSquare" && kind != "L1" &&
        kind != "L2" && kind != "LogSum")
      return x; // a sum, a mean, ... of one element is the element
    if (!nothing_if_empty)
      dims = axesOf({}, x.dim());
  }
  std::sort(dims.begin(), dims.end());
  int64_t reduced = 1;
  Sizes sizes;
  for (int64_t dim = 0; dim < x.dim(); ++dim) {
    bool goes = std::binary_search(dims.begin(), dims.end(), dim);
    if (goes)
      reduced *= x.size(dim);
    if (!goes || keep)
      sizes.push_back(goes ? 1 : x.size(dim));
  }
  if (reduced == 0)
    return ofNothing(x, sizes, kind);
  at::ScalarType dtype = x.scalar_type();
  auto sum = [&](const at::Tensor &of) {
    return dims.empty() ? of : of.sum(dims, keep, of.scalar_type());
  };
  if (kind == "Sum")
    return sum(x);
  if (kind == "Prod")
    return productOver(x, dims, keep);
  if (kind == "Max" || kind == "Min")
    return kind == "Max" ? x.amax(dims, keep) : x.amin(dims, keep);
  if (kind == "L1")
    return sum(x.abs());
  if (kind == "SumSquare")
    return sum(x * x);
  // The rest is defined through real numbers.
  at::Tensor real = x.is_floating_point() ? x : x.to(at::kDouble), y;
  if (kind == "Mean")
    y = real.mean(dims, keep);
  else if (kind == "L2")
    y = dims.empty() ? real.abs() : at::linalg_vector_norm(real, 2, dims, keep);
  else if (kind == "LogSum")
    y = sum(real).log();
  else {
    TORCH_CHECK_VALUE(kind == "LogSumExp", "no reduction is called ", kind);
    y = at::logsumexp(real, dims, keep);
  }
  return y.to(dtype);
}

at::Tensor cumulative(const at::Tensor &x, const at::Tensor &axis,
                      bool products, bool exclusive, bool reverse) {
  int64_t dim = wrapAxis(number(axis, "the axis"), x.dim());
  at::Tensor y = reverse ? x.flip({dim}) : x;
  if (exclusive && y.size(dim) > 0) {
    Sizes first(y.sizes().begin(), y.sizes().end());
    first[static_cast<size_t>(dim)] = 1;
    y = at::cat({at::full(first, products ? 1 : 0, y.options()),
                 y.narrow(dim, 0, y.size(dim) - 1)},
                dim);
  }
  y = products ? y.cumprod(dim, x.scalar_type())
               : y.cumsum(dim, x.scalar_type());
  return reverse ? y.flip({dim}) : y;
}

at::Tensor stack_iterations(const std::vector<at::Tensor> &values,
                            at::IntArrayRef empty, at::ScalarType dtype) {
  if (!values.empty())
    return at::stack(values);
  Sizes sizes{0};
  sizes.insert(sizes.end(), empty.begin(), empty.end());
  return at::empty(sizes, dtype);
}

//===----------------------------------------------------------------------===//
// Resize
//===----------------------------------------------------------------------===//

at::Tensor resize_by(const at::Tensor &x, const OptionalTensor &roi,
                     const OptionalTensor &scales, const OptionalTensor &sizes,
                     at::IntArrayRef axes, std::string_view policy,
                     std::string_view mode, std::string_view coordinates,
                     std::string_view nearest, double cubic_a,
                     bool exclude_outside, bool antialias,
                     double extrapolation) {
  auto rank = static_cast<size_t>(x.dim());
  std::vector<double> factor(rank, 1), region(2 * rank, 0);
  std::fill(region.begin() + static_cast<std::ptrdiff_t>(rank), region.end(),
            1);
  Sizes out(x.sizes().begin(), x.sizes().end());
  bool byScale = scales && scales->numel() > 0;
  TORCH_CHECK_VALUE(byScale || sizes, "resize needs scales or sizes");
  if (byScale) {
    std::vector<double> given = reals(*scales);
    TORCH_CHECK_VALUE(given.size() == axes.size(), "scales must have ",
                      axes.size(), " numbers, got: ", given.size());
    for (size_t i = 0; i < axes.size(); ++i) {
      auto dim = static_cast<size_t>(axes[i]);
      TORCH_CHECK_VALUE(given[i] > 0 && std::isfinite(given[i]),
                        "a scale must be above 0, got: ", given[i]);
      factor[dim] = given[i];
      out[dim] = static_cast<int64_t>(
          std::floor(static_cast<double>(out[dim]) * given[i]));
    }
  } else {
    Sizes given = numbers(*sizes);
    TORCH_CHECK_VALUE(given.size() == axes.size(), "sizes must have ",
                      axes.size(), " numbers, got: ", given.size());
    checkSizes(given);
    double common =
        policy == "not_larger" ? std::numeric_limits<double>::infinity() : 0;
    for (size_t i = 0; i < axes.size(); ++i) {
      auto dim = static_cast<size_t>(axes[i]);
      factor[dim] =
          static_cast<double>(given[i]) / static_cast<double>(out[dim]);
      common = policy == "not_larger" ? std::min(common, factor[dim])
                                      : std::max(common, factor[dim]);
    }
    for (size_t i = 0; i < axes.size(); ++i) {
      auto dim = static_cast<size_t>(axes[i]);
      if (policy == "stretch") {
        out[dim] = given[i];
        continue;
      }
      factor[dim] = common;
      out[dim] = static_cast<int64_t>(
          std::round(static_cast<double>(out[dim]) * common));
    }
  }
  checkSizes(out);
  if (coordinates == "tf_crop_and_resize") {
    TORCH_CHECK_VALUE(roi.has_value(), "tf_crop_and_resize needs a region");
    std::vector<double> given = reals(*roi);
    TORCH_CHECK_VALUE(given.size() == 2 * axes.size(), "roi must have ",
                      2 * axes.size(), " numbers, got: ", given.size());
    for (size_t i = 0; i < axes.size(); ++i) {
      region[static_cast<size_t>(axes[i])] = given[i];
      region[static_cast<size_t>(axes[i]) + rank] = given[i + axes.size()];
    }
  }
  return resize(x, out, factor, region, mode, coordinates, nearest, cubic_a,
                exclude_outside, antialias, extrapolation);
}

} // namespace hethub::ops
