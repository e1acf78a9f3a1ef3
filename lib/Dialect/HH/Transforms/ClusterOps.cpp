//===- ClusterOps.cpp - the cluster as operations of a module -------------===//

#include "hethub/Dialect/HH/Transforms/ClusterOps.h"

#include "hethub/Dialect/HH/IR/HHDialect.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace hethub;

void hh::writeCluster(ModuleOp module, const cluster::Cluster &cluster) {
  for (Operation &op : llvm::make_early_inc_range(*module.getBody()))
    if (isa<DeviceTypeOp, LinkOp>(op))
      op.erase();
  OpBuilder builder(module.getContext());
  builder.setInsertionPointToStart(module.getBody());
  auto figure = [&](double value) {
    return value > 0 ? builder.getF64FloatAttr(value) : FloatAttr();
  };
  auto text = [&](StringRef value) {
    return value.empty() ? StringAttr() : builder.getStringAttr(value);
  };
  for (const cluster::DeviceType &type : cluster.types) {
    NamedAttrList peaks;
    for (const auto &[dtype, flops] : type.peakFlops)
      peaks.append(dtype, builder.getF64FloatAttr(flops));
    DeviceTypeOp::create(
        builder, NameLoc::get(builder.getStringAttr(type.name)),
        builder.getStringAttr(type.name), builder.getStringAttr(type.kind),
        builder.getI64IntegerAttr(type.count),
        builder.getI64IntegerAttr(type.memoryBytes),
        type.nodes > 1 ? builder.getI64IntegerAttr(type.nodes) : IntegerAttr(),
        text(type.accelerator),
        peaks.empty() ? DictionaryAttr()
                      : peaks.getDictionary(builder.getContext()),
        figure(type.memoryBandwidth), figure(type.launchOverhead),
        figure(type.hostBandwidth), text(type.profile),
        figure(type.emulatedSlowdown));
  }
  auto symbol = [&](unsigned type) {
    return FlatSymbolRefAttr::get(builder.getContext(),
                                  cluster.types[type].name);
  };
  auto flag = [&](bool value) {
    return value ? builder.getUnitAttr() : UnitAttr();
  };
  for (unsigned a = 0; a < cluster.types.size(); ++a)
    for (unsigned b = a; b < cluster.types.size(); ++b) {
      if (a == b && cluster.types[a].count == 1)
        continue;
      cluster::Link link = cluster.link(a, b);
      LinkOp::create(builder, builder.getUnknownLoc(), symbol(a), symbol(b),
                     builder.getF64FloatAttr(link.bandwidth),
                     builder.getF64FloatAttr(link.latency),
                     link.viaHost ? builder.getStringAttr("host")
                                  : StringAttr(),
                     flag(link.emulated), flag(link.stated));
    }
}

cluster::Cluster hh::readCluster(ModuleOp module) {
  cluster::Cluster cluster;
  auto figure = [](std::optional<APFloat> value) {
    return value ? value->convertToDouble() : 0.0;
  };
  for (auto op : module.getOps<DeviceTypeOp>()) {
    cluster::DeviceType type;
    type.name = op.getSymName().str();
    type.kind = op.getKind().str();
    type.accelerator = op.getAccelerator().value_or("").str();
    type.count = op.getCount();
    type.nodes = op.getNodes().value_or(1);
    type.memoryBytes = op.getMemory();
    if (DictionaryAttr peaks = op.getPeakFlopsAttr())
      for (NamedAttribute peak : peaks)
        if (auto flops = dyn_cast<FloatAttr>(peak.getValue()))
          type.peakFlops[peak.getName().str()] = flops.getValueAsDouble();
    type.memoryBandwidth = figure(op.getMemoryBandwidth());
    type.launchOverhead = figure(op.getLaunchOverhead());
    type.hostBandwidth = figure(op.getHostBandwidth());
    type.profile = op.getProfile().value_or("").str();
    type.emulatedSlowdown = figure(op.getEmulatedSlowdown());
    cluster.types.push_back(type);
  }
  for (auto op : module.getOps<LinkOp>()) {
    cluster::Link link;
    link.bandwidth = op.getBandwidth().convertToDouble();
    link.latency = op.getLatency().convertToDouble();
    link.viaHost = op.getVia() == "host";
    link.emulated = op.getEmulated();
    link.stated = op.getStated();
    // The verifier of hh.link makes sure of both ends.
    cluster.setLink(*cluster.find(op.getFrom()), *cluster.find(op.getTo()),
                    link);
  }
  return cluster;
}
