//===- AnnotateCost.cpp - what every operation costs ----------------------===//

#include "hethub/Cost/GradientFlow.h"
#include "hethub/Cost/Passes.h"
#include "hethub/Cost/Profile.h"
#include "hethub/Cost/Roofline.h"
#include "hethub/Cost/Signature.h"
#include "hethub/Dialect/HH/IR/HHDialect.h"
#include "hethub/Dialect/HH/Transforms/ClusterOps.h"
#include "hethub/Dialect/HH/Transforms/ModelGraph.h"
#include "hethub/Dialect/ONNX/IR/Work.h"
#include "hethub/Support/Names.h"
#include "hethub/Support/OpenDims.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/GlobPattern.h"

#include <cmath>
#include <map>

namespace hethub::cost {
#define GEN_PASS_DEF_ANNOTATECOST
#include "hethub/Cost/Passes.h.inc"
} // namespace hethub::cost

using namespace mlir;
using namespace hethub;
using namespace hethub::cost;

/// Four digits: more than the model is worth, and legible.
static double rounded(double seconds) {
  if (!(seconds > 0))
    return 0;
  double scale = std::pow(10.0, 3 - std::floor(std::log10(seconds)));
  return std::round(seconds * scale) / scale;
}

static bool hasOpenShape(Operation &op) {
  return llvm::any_of(op.getResultTypes(), [](Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    return tensor && !tensor.hasStaticShape();
  });
}

//===----------------------------------------------------------------------===//
// Times
//===----------------------------------------------------------------------===//

/// Of a backward pass, what makes gradients of parameters, where that was not
/// measured.
static double weightShare(Operation *op) {
  return llvm::StringSwitch<double>(op->getName().getStringRef())
      .Cases({"onnx.MatMul", "onnx.Gemm", "onnx.Einsum"}, 0.5)
      .Cases({"onnx.Conv", "onnx.ConvTranspose"}, 0.5)
      .Case("onnx.Gather", 1)
      .Default(0);
}

namespace {
/// Seconds of operations on one device type.
class Clock {
public:
  /// `splitBackward`: gradients of parameters are a program of their own.
  Clock(const cluster::DeviceType &type, Profile profile, bool splitBackward)
      : type(type), profile(std::move(profile)), splitBackward(splitBackward) {}

  const cluster::DeviceType &type;

  /// Learns from the profile's own operations, whatever model they are of, how
  /// far the device is from its roofline, by operator class.
  void calibrate(MLIRContext *context) {
    std::map<hh::OpClass, std::vector<double>> ratios;
    for (const auto &entry : profile.operations) {
      Operation *op = nullptr;
      OwningOpRef<ModuleOp> module = parseSignature(entry.first(), context, op);
      if (!module)
        continue;
      hh::OpWork work = ox::workOf(op);
      double modelled = rooflineTimes(work, computedType(op), type).forward;
      if (modelled > 0 && entry.second.forward > 0)
        ratios[work.opClass].push_back(entry.second.forward / modelled);
    }
    for (auto &[opClass, values] : ratios) {
      auto middle = values.begin() + values.size() / 2;
      std::nth_element(values.begin(), middle, values.end());
      corrections[opClass] = *middle;
    }
  }

  /// `trainedBytes` of parameters get a gradient.
  Times timesOf(Operation *op, int64_t trainedBytes = 0) const {
    const ProfileEntry *entry = profile.find(signatureOf(op));
    Times times = modelledTimes(op);
    if (trainedBytes > 0)
      times.weight = times.backward * weightShare(op);
    // Adding a gradient to the sum of the step reads both and writes one.
    double adding = 3 * double(trainedBytes) / type.memoryBandwidth;
    times.backward += adding;
    times.weight += adding;
    if (entry)
      times = measuredTimes(*entry, times);
    double slowdown = type.emulatedSlowdown > 0 ? type.emulatedSlowdown : 1;
    return {times.forward * slowdown, times.backward * slowdown,
            times.weight * slowdown};
  }

private:
  /// What was not measured is in proportion to the model's times.
  Times measuredTimes(const ProfileEntry &entry, const Times &modelled) const {
    auto ratio = [](double part, double whole) {
      return whole > 0 ? part / whole : 0;
    };
    Times times;
    times.forward = entry.forward;
    times.backward = entry.backward.value_or(
        entry.forward * ratio(modelled.backward, modelled.forward));
    if (splitBackward && entry.inputGradient && entry.weightGradient)
      times.backward = *entry.inputGradient + *entry.weightGradient;
    times.weight = std::min(
        times.backward,
        entry.weightGradient.value_or(
            times.backward * ratio(modelled.weight, modelled.backward)));
    return times;
  }

  Times modelledTimes(Operation *op) const {
    if (op->getNumRegions() > 0)
      return regionTimes(op);
    hh::OpWork work = ox::workOf(op);
    StringRef dtype = computedType(op);
    if (dtype == "float32" && !type.trainingPrecision.empty())
      dtype = type.trainingPrecision;
    Times times = rooflineTimes(work, dtype, type);
    auto correction = corrections.find(work.opClass);
    if (correction != corrections.end()) {
      times.forward *= correction->second;
      times.backward *= correction->second;
    }
    return times;
  }

  /// The dearest branch of an If, all iterations of a loop; each operation
  /// inside is launched on its own.
  Times regionTimes(Operation *op) const {
    bool branches = op->getName().getStringRef() == "onnx.If";
    Times sum;
    for (Region &region : op->getRegions()) {
      Times times;
      for (Operation &inner : region.getOps())
        if (ox::isNode(&inner)) {
          Times added = modelledTimes(&inner);
          times.forward += added.forward;
          times.backward += added.backward;
        }
      if (branches && times.forward > sum.forward)
        sum = times;
      else if (!branches)
        sum = {sum.forward + times.forward, sum.backward + times.backward};
    }
    double trips = branches ? 1 : ox::tripCount(op);
    return {type.launchOverhead + sum.forward * trips, sum.backward * trips};
  }

  Profile profile;
  bool splitBackward;
  std::map<hh::OpClass, double> corrections;
};

struct AnnotateCost : cost::impl::AnnotateCostBase<AnnotateCost> {
  using AnnotateCostBase::AnnotateCostBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto function = module.lookupSymbol<func::FuncOp>("main");
    if (!function || !function.getBody().hasOneBlock()) {
      module.emitError("module must have a function @main of one block");
      return signalPassFailure();
    }
    cluster::Cluster cluster = hh::readCluster(module);
    if (!training)
      for (cluster::DeviceType &type : cluster.types)
        type.trainingPrecision.clear();
    if (cluster.types.empty()) {
      module.emitError("module must have device types (hh-load-cluster)");
      return signalPassFailure();
    }
    std::vector<Clock> clocks;
    if (failed(requireFixedDims(function)) ||
        failed(makeClocks(function, cluster, clocks)))
      return signalPassFailure();
    std::vector<llvm::GlobPattern> patterns;
    for (const std::string &text : frozen) {
      llvm::Expected<llvm::GlobPattern> pattern =
          llvm::GlobPattern::create(text);
      if (!pattern) {
        function.emitError("a pattern of frozen parameters must be a glob "
                           "pattern, got: '")
            << text << "': " << llvm::toString(pattern.takeError());
        return signalPassFailure();
      }
      patterns.push_back(std::move(*pattern));
    }
    auto trains = [&](StringRef name) {
      return llvm::none_of(patterns, [&](const llvm::GlobPattern &pattern) {
        return pattern.match(name);
      });
    };
    if (training)
      markFrozen(trains);
    if (function->hasAttr(openDimsAttrName))
      return annotateTypical(function, clocks, trains);
    annotate(function.getBody().front(), clocks, trains);
  }

private:
  /// Costs of a copy whose values have their typical types.
  void annotateTypical(func::FuncOp function, ArrayRef<Clock> clocks,
                       llvm::function_ref<bool(StringRef)> trains) {
    OwningOpRef<func::FuncOp> sized = function.clone();
    Block &from = function.getBody().front(), &to = sized->getBody().front();
    for (auto [open, typical] :
         llvm::zip(from.getArguments(), to.getArguments()))
      typical.setType(hh::typicalType(open));
    for (auto [open, typical] : llvm::zip(from, to))
      for (auto [result, made] :
           llvm::zip(open.getResults(), typical.getResults()))
        made.setType(hh::typicalType(result));
    annotate(to, clocks, trains);
    for (auto [open, typical] : llvm::zip(from, to))
      if (Attribute cost = typical.getAttr(hh::costAttrName))
        open.setAttr(hh::costAttrName, cost);
  }

  /// Reads profiles and refuses device types without the figures that the
  /// operations need.
  LogicalResult makeClocks(func::FuncOp function,
                           const cluster::Cluster &cluster,
                           std::vector<Clock> &clocks) {
    llvm::SetVector<StringRef> dtypes;
    for (Operation &op : function.getBody().front())
      if (ox::isNode(&op))
        dtypes.insert(computedType(&op));
    for (const cluster::DeviceType &type : cluster.types) {
      for (StringRef dtype : dtypes)
        if (std::string what = missingFigure(type, dtype); !what.empty())
          return function.emitError("device type '")
                 << type.name << "' must state its " << what
                 << " in the cluster file";
      Profile profile;
      if (!type.profile.empty()) {
        llvm::Expected<Profile> read = readProfile(type.profile);
        if (!read)
          return mlir::emitError(UnknownLoc::get(&getContext()))
                 << llvm::toString(read.takeError());
        profile = std::move(*read);
      }
      clocks.emplace_back(type, std::move(profile), splitBackward);
      clocks.back().calibrate(&getContext());
    }
    return success();
  }

  /// What has neither gradient nor optimizer state, for the planner.
  void markFrozen(llvm::function_ref<bool(StringRef)> trains) {
    for (auto parameter : getOperation().getOps<hh::ParameterOp>()) {
      auto tensor = dyn_cast<ShapedType>(parameter.getType());
      if (tensor && isa<FloatType>(tensor.getElementType()) &&
          trains(parameter.getSymName()))
        parameter->removeAttr(hh::frozenAttrName);
      else
        parameter->setAttr(hh::frozenAttrName, UnitAttr::get(&getContext()));
    }
  }

  void annotate(Block &block, ArrayRef<Clock> clocks,
                llvm::function_ref<bool(StringRef)> trains) {
    Builder builder(&getContext());
    llvm::DenseSet<Value> gradients = valuesWithGradient(block, trains), kept,
                          ofParameters = valuesOfParameters(block);
    bool warned = false;
    for (Operation &op : block) {
      if (!ox::isNode(&op) || op.getName().getStringRef() == "onnx.Constant")
        continue;
      if (hasOpenShape(op) && !warned) {
        warned = true;
        op.emitWarning("sizes that depend on data count as 1 in costs, the "
                       "first is that of '")
            << nodeName(&op) << "'";
      }
      bool differentiated = llvm::any_of(op.getResults(), [&](Value result) {
        return gradients.contains(result);
      });
      hh::OpWork work = ox::workOf(&op);
      int64_t keptBytes = 0;
      if (differentiated && op.getNumRegions() > 0)
        keptBytes = work.keptBytes;
      else if (differentiated)
        for (Value value : ox::keptValues(&op))
          if (kept.insert(ox::storageOf(value)).second)
            keptBytes += ox::bytesOf(value.getType());
      if (differentiated && op.getNumRegions() == 0)
        keptBytes += ox::keptInside(&op);
      int64_t trainedBytes = 0;
      if (training && differentiated)
        for (Value operand : op.getOperands())
          if (gradients.contains(operand) && ofParameters.contains(operand))
            trainedBytes += ox::bytesOf(operand.getType());
      SmallVector<NamedAttribute> seconds;
      for (const Clock &clock : clocks) {
        Times times = clock.timesOf(&op, trainedBytes);
        // Once, when a program is loaded.
        if (!training && op.getNumResults() > 0 &&
            ofParameters.contains(op.getResult(0)))
          times.forward = 0;
        if (!differentiated)
          times.backward = times.weight = 0;
        SmallVector<double> figures = {rounded(times.forward),
                                       rounded(times.backward)};
        if (training)
          figures.push_back(std::min(rounded(times.weight), figures.back()));
        seconds.push_back(builder.getNamedAttr(
            clock.type.name, builder.getDenseF64ArrayAttr(figures)));
      }
      op.setAttr(hh::costAttrName,
                 hh::CostAttr::get(
                     &getContext(), static_cast<int64_t>(work.forwardFlops),
                     work.movedBytes, keptBytes, work.parameterBytes,
                     builder.getDictionaryAttr(seconds)));
    }
  }
};
} // namespace
