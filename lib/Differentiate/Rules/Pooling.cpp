//===- Pooling.cpp - rules of pools and resampling ------------------------===//

#include "../Derivation.h"

using namespace mlir;

namespace hethub::differentiate {

namespace {

Value ofSelfType(Derivation &d, StringRef name, ArrayRef<TensorArg> tensors,
                 ArrayRef<NamedArg> args) {
  return d.call(name, tensors, args, d.typeOf(d.self()));
}

/// The arguments that say where windows stand. Backward operators want a stride
/// that is written out.
SmallVector<NamedArg> window(Derivation &d, ArrayRef<StringRef> others) {
  SmallVector<NamedArg> args =
      d.arguments({"kernel_size", "padding", "ceil_mode"});
  bool given = !d.ints("stride").empty();
  args.push_back(d.arg("stride", d.ints(given ? "stride" : "kernel_size")));
  args.append(d.arguments(others));
  return args;
}

//===----------------------------------------------------------------------===//
// Average pools
//===----------------------------------------------------------------------===//

Value averagePool(Derivation &d, StringRef name) {
  return ofSelfType(d, name, {d.grad(), d.self()},
                    window(d, {"count_include_pad", "divisor_override"}));
}
Value averagePool2d(Derivation &d) {
  return averagePool(d, "avg_pool2d_backward");
}
Value averagePool3d(Derivation &d) {
  return averagePool(d, "avg_pool3d_backward");
}

Value adaptiveAveragePool2d(Derivation &d) {
  return ofSelfType(d, "_adaptive_avg_pool2d_backward", {d.grad(), d.self()},
                    {});
}

/// The window of a pool over one axis, as that of a pool over two.
SmallVector<NamedArg> widenedWindow(Derivation &d) {
  auto two = [&](StringRef name, StringRef argument, int64_t first) {
    return d.arg(name, Dims{first, d.ints(argument).front()});
  };
  bool given = !d.ints("stride").empty();
  return {two("kernel_size", "kernel_size", 1),
          two("stride", given ? "stride" : "kernel_size", 1),
          two("padding", "padding", 0), d.same("ceil_mode")};
}

/// x with an axis of one element in front of the last.
Value widened(CallBuilder &calls, Value x) {
  return calls.unsqueeze(x, CallBuilder::rank(x) - 1);
}
Value narrowed(CallBuilder &calls, Value x) {
  return calls.squeeze(x, {CallBuilder::rank(x) - 2});
}

Value averagePool1d(Derivation &d) {
  Value x = widened(d, d.self());
  SmallVector<NamedArg> args = widenedWindow(d);
  args.push_back(d.same("count_include_pad"));
  Value gradient = d.call("avg_pool2d_backward", {widened(d, d.grad()), x},
                          args, d.typeOf(x));
  return narrowed(d, gradient);
}

//===----------------------------------------------------------------------===//
// Maximum pools
//===----------------------------------------------------------------------===//

Value maxPoolBackward(Derivation &d, StringRef name) {
  return ofSelfType(d, name, {d.grad(), d.self(), d.out(1)},
                    window(d, {"dilation"}));
}
Value maxPool2dWithIndices(Derivation &d) {
  return maxPoolBackward(d, "max_pool2d_with_indices_backward");
}
Value maxPool3dWithIndices(Derivation &d) {
  return maxPoolBackward(d, "max_pool3d_with_indices_backward");
}

/// The form that tells where the maxima stand.
LogicalResult maxPool(Derivation &d, StringRef name) {
  Values pooled = d.forward().calls(
      name, {d.self()}, window(d, {"dilation"}),
      {d.typeOf(d.out()), d.tensor(d.dims(d.out()), d.i64())});
  return d.decompose(pooled[0]);
}
LogicalResult maxPool2d(Derivation &d) {
  return maxPool(d, "max_pool2d_with_indices");
}
LogicalResult maxPool3d(Derivation &d) {
  return maxPool(d, "max_pool3d_with_indices");
}

/// With or without indices: the position in a plane of one row is the same.
LogicalResult maxPool1d(Derivation &d, unsigned results) {
  CallBuilder &forward = d.forward();
  Dims dims(d.dims(d.out()));
  dims.insert(dims.end() - 1, 1);
  SmallVector<NamedArg> args = widenedWindow(d);
  args.push_back(d.arg("dilation", Dims{1, d.ints("dilation").front()}));
  Values pooled = forward.calls(
      "max_pool2d_with_indices", {widened(forward, d.self())}, args,
      {d.tensor(dims, d.element(d.out())), d.tensor(dims, d.i64())});
  Values replacements;
  for (unsigned i = 0; i < results; ++i)
    replacements.push_back(narrowed(forward, pooled[i]));
  return d.decompose(replacements);
}
LogicalResult maxPool1dPlain(Derivation &d) { return maxPool1d(d, 1); }
LogicalResult maxPool1dWithIndices(Derivation &d) { return maxPool1d(d, 2); }

//===----------------------------------------------------------------------===//
// Resampling
//===----------------------------------------------------------------------===//

/// Backward operators want the output's size and one scale an axis.
LogicalResult upsample(Derivation &d, StringRef name, bool aligns) {
  Value x = d.in("input");
  int64_t axes = d.rank(x) - 2;
  SmallVector<NamedArg> args{
      d.arg("output_size", d.dims(d.out()).drop_front(2)),
      d.arg("input_size", d.dims(x))};
  if (aligns)
    args.push_back(d.same("align_corners"));
  if (auto scales =
          dyn_cast_or_null<DenseF64ArrayAttr>(d.attribute("scale_factors"))) {
    constexpr StringRef names[] = {"scales_d", "scales_h", "scales_w"};
    for (int64_t axis = 0; axis < axes; ++axis)
      args.push_back(d.arg(axes == 1 ? "scales" : names[3 - axes + axis],
                           scales.asArrayRef()[axis]));
  }
  d.give("input", [&] { return d.call(name, {d.grad()}, args, d.typeOf(x)); });
  return success();
}

LogicalResult upsampleNearest1d(Derivation &d) {
  return upsample(d, "upsample_nearest1d_backward", false);
}
LogicalResult upsampleNearest2d(Derivation &d) {
  return upsample(d, "upsample_nearest2d_backward", false);
}
LogicalResult upsampleNearest3d(Derivation &d) {
  return upsample(d, "upsample_nearest3d_backward", false);
}
LogicalResult upsampleLinear1d(Derivation &d) {
  return upsample(d, "upsample_linear1d_backward", true);
}
LogicalResult upsampleBilinear2d(Derivation &d) {
  return upsample(d, "upsample_bilinear2d_backward", true);
}
LogicalResult upsampleBicubic2d(Derivation &d) {
  return upsample(d, "upsample_bicubic2d_backward", true);
}
LogicalResult upsampleTrilinear3d(Derivation &d) {
  return upsample(d, "upsample_trilinear3d_backward", true);
}

LogicalResult resize(Derivation &d) {
  d.give("x", [&] {
    Value x = d.in("x");
    SmallVector<NamedArg> args =
        d.arguments({"scales", "roi", "mode", "coordinates", "nearest",
                     "cubic_a", "exclude_outside", "antialias"});
    args.push_back(d.arg("input_sizes", d.dims(x)));
    return d.call("hethub.resize_backward", {d.grad()}, args, d.typeOf(x));
  });
  return success();
}

/// The operator computes the gradient of the grid whatever the mask says.
LogicalResult gridSample(Derivation &d) {
  Value x = d.in("input"), grid = d.in("grid");
  StringRef name =
      d.rank(x) == 4 ? "grid_sampler_2d_backward" : "grid_sampler_3d_backward";
  SmallVector<NamedArg> args =
      d.arguments({"interpolation_mode", "padding_mode", "align_corners"});
  args.push_back(d.mask({d.wants(x), d.wants(grid)}));
  Values gradients = d.calls(
      name, {d.grad(), x, grid}, args,
      {d.wants(x) ? d.typeOf(x) : d.absent(d.element(x)), d.typeOf(grid)});
  d.give("input", [&] { return gradients[0]; });
  d.give("grid", [&] { return gradients[1]; });
  return success();
}

LogicalResult affineGrid(Derivation &d) {
  d.give("theta", [&] {
    return d.call("affine_grid_generator_backward", {d.grad()},
                  d.arguments({"size", "align_corners"}),
                  d.typeOf(d.in("theta")));
  });
  return success();
}

/// Regions have no gradient: where samples lie is given.
LogicalResult roiAlign(Derivation &d) {
  Value x = d.in("x");
  d.give("x", [&] {
    return d.call(
        "hethub.roi_align_backward",
        {d.grad(), x, d.in("rois"), d.in("batch_indices")},
        d.arguments({"mode", "sampling_ratio", "spatial_scale", "half_pixel"}),
        d.typeOf(x));
  });
  return success();
}

LogicalResult maxRoiPool(Derivation &d) {
  Value x = d.in("x");
  d.give("x", [&] {
    return d.call("hethub.max_roi_pool_backward", {d.grad(), x, d.in("rois")},
                  d.arguments({"spatial_scale"}), d.typeOf(x));
  });
  return success();
}

} // namespace

void addPoolingRules(RuleTable &table) {
  table["aten::adaptive_avg_pool2d"] = ofSelf<adaptiveAveragePool2d>;
  table["aten::avg_pool1d"] = ofSelf<averagePool1d>;
  table["aten::avg_pool2d"] = ofSelf<averagePool2d>;
  table["aten::avg_pool3d"] = ofSelf<averagePool3d>;
  table["aten::max_pool1d"] = maxPool1dPlain;
  table["aten::max_pool1d_with_indices"] = maxPool1dWithIndices;
  table["aten::max_pool2d"] = maxPool2d;
  table["aten::max_pool2d_with_indices"] = ofSelf<maxPool2dWithIndices>;
  table["aten::max_pool3d"] = maxPool3d;
  table["aten::max_pool3d_with_indices"] = ofSelf<maxPool3dWithIndices>;

  table["aten::affine_grid_generator"] = affineGrid;
  table["aten::grid_sampler"] = gridSample;
  table["aten::upsample_bicubic2d.vec"] = upsampleBicubic2d;
  table["aten::upsample_bilinear2d.vec"] = upsampleBilinear2d;
  table["aten::upsample_linear1d.vec"] = upsampleLinear1d;
  table["aten::upsample_nearest1d.vec"] = upsampleNearest1d;
  table["aten::upsample_nearest2d.vec"] = upsampleNearest2d;
  table["aten::upsample_nearest3d.vec"] = upsampleNearest3d;
  table["aten::upsample_trilinear3d.vec"] = upsampleTrilinear3d;
  table["hethub::max_roi_pool"] = maxRoiPool;
  table["hethub::resize"] = resize;
  table["hethub::roi_align"] = roiAlign;
}

} // namespace hethub::differentiate
