//===- Detection.cpp - boxes and regions of images ------------------------===//

#include "Lowering.h"

using namespace mlir;

namespace hethub {

namespace {

LogicalResult lowerNonMaxSuppression(Lowering &l) {
  return l.done(l.call(
      "hethub.non_max_suppression",
      {l.in(0), l.in(1), l.in(2), l.in(3), l.in(4)},
      {l.arg("center_point_box", bool(l.node.integer("center_point_box", 0)))},
      l.outType()));
}

LogicalResult lowerRoiAlign(Lowering &l) {
  int64_t height = l.node.integer("output_height", 1);
  int64_t width = l.node.integer("output_width", 1);
  bool halfPixel = l.node.string("coordinate_transformation_mode",
                                 "half_pixel") == "half_pixel";
  return l.done(
      l.call("hethub.roi_align", {l.in(0), l.in(1), l.in(2)},
             {l.arg("sizes", Dims{height, width}),
              l.arg("mode", l.node.string("mode", "avg")),
              l.arg("sampling_ratio", l.node.integer("sampling_ratio", 0)),
              l.arg("spatial_scale", l.node.real("spatial_scale", 1)),
              l.arg("half_pixel", halfPixel)},
             l.outType()));
}

LogicalResult lowerMaxRoiPool(Lowering &l) {
  return l.done(
      l.call("hethub.max_roi_pool", {l.in(0), l.in(1)},
             {l.arg("sizes", l.node.integers("pooled_shape")),
              l.arg("spatial_scale", l.node.real("spatial_scale", 1))},
             l.outType()));
}

} // namespace

void addDetectionHandlers(HandlerTable &table) {
  table["NonMaxSuppression"] = lowerNonMaxSuppression;
  table["RoiAlign"] = lowerRoiAlign;
  table["MaxRoiPool"] = lowerMaxRoiPool;
}

} // namespace hethub
