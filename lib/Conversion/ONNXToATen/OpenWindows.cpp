//===- OpenWindows.cpp - windows over axes of unknown size ----------------===//
//
// With pads that are written out, convolutions and pools need no sizes; with
// SAME padding, rounding up or a wanted output shape they do.
//===----------------------------------------------------------------------===//

#include "OpenHandlers.h"
#include "Window.h"

using namespace mlir;

namespace hethub {

namespace {

bool areSpatialSizesKnown(Lowering &l) {
  auto known = [](ArrayRef<int64_t> dims) {
    return !llvm::is_contained(dims.drop_front(2), ShapedType::kDynamic);
  };
  return known(Lowering::dims(l.in(0))) && known(l.outType().getShape());
}

/// Why a node needs sizes that only a run knows; empty where it does not.
std::string neededSizes(Lowering &l) {
  int64_t rank = Lowering::rank(l.in(0));
  if (rank < 3 || rank > 5)
    return "only 1 to 3 spatial axes are supported";
  if (l.node.string("auto_pad", "NOTSET").starts_with("SAME"))
    return "padding of auto_pad SAME follows from sizes that are not known "
           "when compiling";
  return "";
}

LogicalResult lowerConv(Lowering &l) {
  if (std::string reason = neededSizes(l);
      !reason.empty() && !areSpatialSizesKnown(l))
    return l.refuse(reason);
  Value weight = l.in(1);
  if (llvm::is_contained(Lowering::dims(weight), ShapedType::kDynamic))
    return l.refuse("the size of the weight must be known");
  return l.done(convolve(l, l.in(0), weight, l.in(2), l.outType().getShape()));
}

LogicalResult lowerConvTranspose(Lowering &l) {
  if (std::string reason = neededSizes(l); !reason.empty())
    return l.refuse(reason);
  Value x = l.in(0), weight = l.in(1);
  Window w = readWindow(l, Lowering::dims(x), Lowering::dims(x),
                        Lowering::dims(weight).drop_front(2));
  Dims extra = l.node.integers("output_padding");
  if (extra.empty())
    extra.assign(w.axes(), 0);
  bool negative = llvm::any_of(w.before, [](int64_t pad) { return pad < 0; });
  if (l.node.attribute("output_shape") || !w.symmetric() || negative)
    return l.refuse("output_shape and unequal pads need sizes that are not "
                    "known when compiling");
  return l.done(
      l.call("convolution", {x, weight, l.in(2)},
             {l.arg("stride", w.strides), l.arg("padding", w.before),
              l.arg("dilation", w.dilations), l.arg("transposed", true),
              l.arg("output_padding", extra),
              l.arg("groups", l.node.integer("group", 1))},
             l.outType()));
}

/// LibTorch's own padding, if it can express the pool's without sizes.
LogicalResult poolWindow(Lowering &l, Window &w) {
  if (std::string reason = neededSizes(l); !reason.empty())
    return l.refuse(reason);
  ArrayRef<int64_t> dims = Lowering::dims(l.in(0));
  w = readWindow(l, dims, dims);
  bool fits = w.symmetric() && l.node.integer("ceil_mode", 0) == 0 &&
              isFloat(Lowering::element(l.in(0)));
  for (size_t i = 0; i < w.axes(); ++i)
    fits &= w.before[i] >= 0 && w.before[i] <= w.kernel[i] / 2;
  return fits ? success()
              : l.refuse("ceil_mode and pads of more than half a kernel need "
                         "sizes that are not known when compiling");
}

LogicalResult lowerMaxPool(Lowering &l) {
  if (l.node.output(1))
    return l.refuse("indices of a pool need sizes that are not known when "
                    "compiling");
  if (neededSizes(l).empty() && areSpatialSizesKnown(l))
    return l.done(maxPool(l, l.in(0), l.outType().getShape(), false)[0]);
  Window w;
  if (failed(poolWindow(l, w)))
    return failure();
  return l.done(
      l.call(("max_pool" + Twine(w.axes()) + "d").str(), {l.in(0)},
             {l.arg("kernel_size", w.kernel), l.arg("stride", w.strides),
              l.arg("padding", w.before), l.arg("dilation", w.dilations)},
             l.outType()));
}

LogicalResult lowerAveragePool(Lowering &l) {
  if (neededSizes(l).empty() && areSpatialSizesKnown(l))
    return l.done(averagePool(l, l.in(0), l.outType().getShape()));
  Window w;
  if (failed(poolWindow(l, w)))
    return failure();
  if (llvm::any_of(w.dilations, [](int64_t d) { return d != 1; }))
    return l.refuse("dilations of an average need sizes that are not known "
                    "when compiling");
  return l.done(l.call(("avg_pool" + Twine(w.axes()) + "d").str(), {l.in(0)},
                       {l.arg("kernel_size", w.kernel),
                        l.arg("stride", w.strides), l.arg("padding", w.before),
                        l.arg("count_include_pad",
                              bool(l.node.integer("count_include_pad", 0)))},
                       l.outType()));
}

} // namespace

void addOpenWindowHandlers(OpenHandlerTable &table) {
  table["Conv"] = {lowerConv, Known::Ranks};
  table["ConvTranspose"] = {lowerConvTranspose, Known::Ranks};
  table["MaxPool"] = {lowerMaxPool, Known::Ranks};
  table["AveragePool"] = {lowerAveragePool, Known::Ranks};
}

} // namespace hethub
