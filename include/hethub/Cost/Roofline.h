//===- Roofline.h - from work to seconds -----------------------*- C++ -*-===//

#ifndef HETHUB_COST_ROOFLINE_H
#define HETHUB_COST_ROOFLINE_H

#include "hethub/Cluster/Cluster.h"
#include "hethub/Dialect/HH/IR/CostInterface.h"

namespace hethub::cost {

/// Seconds of one execution.
struct Times {
  double forward = 0;
  double backward = 0;
  double weight = 0; ///< Of backward: gradients of parameters.
};

/// What an operation's time on a device depends on.
struct RooflineTerms {
  double flops, peak;      ///< FLOPs; FLOP/s of the units that it uses
  double bytes, bandwidth; ///< moved; bytes/s where its working set lies
};
RooflineTerms rooflineTerms(const hh::OpWork &work, llvm::StringRef dtype,
                            const cluster::DeviceType &type);

/// Roofline of one operation on a device of `type`, computing in `dtype`
/// ("float32", ...), without emulated slowdown:
///
///   launch overhead + max(FLOPs / (peak * share), bytes / (bandwidth * share))
///
/// A share grows with the work w as e w / (w + half). The table of e and half
/// is lib/Cost/Efficiency.def. Views take no time. `type` must state a
/// bandwidth and a peak, see `missingFigure`.
Times rooflineTimes(const hh::OpWork &work, llvm::StringRef dtype,
                    const cluster::DeviceType &type);

/// What `type` does not state and the roofline for `dtype` needs; "" if
/// nothing.
std::string missingFigure(const cluster::DeviceType &type,
                          llvm::StringRef dtype);

} // namespace hethub::cost

#endif // HETHUB_COST_ROOFLINE_H
