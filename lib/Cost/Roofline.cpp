//===- Roofline.cpp - from work to seconds --------------------------------===//

#include "hethub/Cost/Roofline.h"

using namespace hethub;
using namespace hethub::cost;
using hh::OpClass;
using llvm::StringRef;

namespace {
struct Efficiency {
  double flops, bandwidth, halfFlops, halfBytes;
};
} // namespace

static Efficiency efficiencyOf(StringRef kind, OpClass opClass) {
  struct Row {
    StringRef kind;
    OpClass opClass;
    Efficiency efficiency;
  };
  static const Row rows[] = {
#define EFFICIENCY(kind, opClass, flops, bandwidth, halfFlops, halfBytes)      \
  {kind, OpClass::opClass, {flops, bandwidth, halfFlops, halfBytes}},
#include "Efficiency.def"
  };
  for (const Row &row : rows)
    if (row.opClass == opClass && (row.kind == kind || row.kind == "*"))
      return row.efficiency;
  return {1, 1, 0, 0};
}

static bool usesMatrixUnits(OpClass opClass) {
  return opClass == OpClass::MatMul || opClass == OpClass::Convolution ||
         opClass == OpClass::Attention || opClass == OpClass::Recurrent;
}

/// Bytes that the backward pass moves, over those of the forward pass: it reads
/// what forward read or wrote and the gradient, and writes a gradient for each
/// operand.
static double backwardBytesRatio(OpClass opClass) {
  switch (opClass) {
  case OpClass::MatMul:
  case OpClass::Convolution:
  case OpClass::Recurrent:
  case OpClass::Gather:
    return 2;
  case OpClass::Attention:
    return 2.5;
  case OpClass::Reduction:
    return 1;
  default:
    return 1.5;
  }
}

/// Small working sets stay in the caches of a CPU core, which are about three
/// times as fast as its memory. GPUs hide small transfers behind the launch.
static double cacheSpeedup(const cluster::DeviceType &type, double bytes) {
  constexpr double cacheBytes = 2 << 20;
  return type.kind == "cpu" && bytes <= cacheBytes ? 3 : 1;
}

static double peakOf(const cluster::DeviceType &type, StringRef dtype,
                     OpClass opClass) {
  double vector = type.peakFor("float32");
  if (usesMatrixUnits(opClass))
    return type.peakFor(dtype);
  return vector > 0 ? vector : type.peakFor(dtype);
}

RooflineTerms cost::rooflineTerms(const hh::OpWork &work, StringRef dtype,
                                  const cluster::DeviceType &type) {
  return {work.forwardFlops, peakOf(type, dtype, work.opClass),
          double(work.movedBytes),
          type.memoryBandwidth * cacheSpeedup(type, work.movedBytes)};
}

Times cost::rooflineTimes(const hh::OpWork &work, StringRef dtype,
                          const cluster::DeviceType &type) {
  if (work.opClass == OpClass::View)
    return {};
  Efficiency efficiency = efficiencyOf(type.kind, work.opClass);
  RooflineTerms terms = rooflineTerms(work, dtype, type);
  // A share that grows with the work, e w / (w + half), makes w + half of it.
  auto seconds = [&](double flops, double bytes) {
    return type.launchOverhead +
           std::max((flops + (flops > 0 ? efficiency.halfFlops : 0)) /
                        (terms.peak * efficiency.flops),
                    (bytes + (bytes > 0 ? efficiency.halfBytes : 0)) /
                        (terms.bandwidth * efficiency.bandwidth));
  };
  Times times;
  times.forward = seconds(terms.flops, terms.bytes);
  // An operation without floats has no backward part at all.
  if (work.backwardFlops > 0 || work.opClass == OpClass::Gather ||
      work.opClass == OpClass::Elementwise)
    times.backward = seconds(work.backwardFlops,
                             terms.bytes * backwardBytesRatio(work.opClass));
  return times;
}

std::string cost::missingFigure(const cluster::DeviceType &type,
                                StringRef dtype) {
  if (type.memoryBandwidth <= 0)
    return "memory_bandwidth";
  if (type.peakFor(dtype) <= 0)
    return "peak FLOP/s for " + dtype.str();
  return "";
}
