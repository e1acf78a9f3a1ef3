//===- ClusterOps.cpp - the cluster as operations of a module -------------===//

#include "hethub/Dialect/HH/Transforms/ClusterOps.h"

#include "hethub/Dialect/HH/IR/HHDialect.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace hethub;

static StringAttr viaOf(Builder &builder, bool viaHost) {
  return viaHost ? builder.getStringAttr("host") : StringAttr();
}

static IntegerAttr chunkOf(Builder &builder, int64_t bytes) {
  return bytes > 0 ? builder.getI64IntegerAttr(bytes) : IntegerAttr();
}

static ArrayAttr routesOf(Builder &builder, const cluster::Link &link) {
  SmallVector<Attribute> routes;
  for (const cluster::Route &route : link.routes) {
    NamedAttrList fields;
    fields.append("bandwidth", builder.getF64FloatAttr(route.bandwidth));
    fields.append("latency", builder.getF64FloatAttr(route.latency));
    if (IntegerAttr chunk = chunkOf(builder, route.chunkBytes))
      fields.append("chunk", chunk);
    if (StringAttr via = viaOf(builder, route.viaHost))
      fields.append("via", via);
    routes.push_back(fields.getDictionary(builder.getContext()));
  }
  return routes.empty() ? ArrayAttr() : builder.getArrayAttr(routes);
}

/// The verifier of hh.link makes sure of the figures.
static std::vector<cluster::Route> readRoutes(hh::LinkOp op) {
  std::vector<cluster::Route> routes;
  if (!op.getRoutes())
    return routes;
  for (auto fields : op.getRoutes()->getAsRange<DictionaryAttr>()) {
    auto via = fields.getAs<StringAttr>("via");
    auto chunk = fields.getAs<IntegerAttr>("chunk");
    routes.push_back({via && via == "host", chunk ? chunk.getInt() : 0,
                      fields.getAs<FloatAttr>("latency").getValueAsDouble(),
                      fields.getAs<FloatAttr>("bandwidth").getValueAsDouble()});
  }
  return routes;
}

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
        figure(type.emulatedSlowdown), text(type.trainingPrecision));
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
      LinkOp::create(
          builder, builder.getUnknownLoc(), symbol(a), symbol(b),
          builder.getF64FloatAttr(link.bandwidth),
          builder.getF64FloatAttr(link.latency), viaOf(builder, link.viaHost),
          flag(link.emulated), flag(link.stated), flag(link.routed),
          chunkOf(builder, link.chunkBytes), routesOf(builder, link));
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
    type.trainingPrecision = op.getTrainingPrecision().value_or("").str();
    cluster.types.push_back(type);
  }
  for (auto op : module.getOps<LinkOp>()) {
    cluster::Link link;
    link.bandwidth = op.getBandwidth().convertToDouble();
    link.latency = op.getLatency().convertToDouble();
    link.viaHost = op.getVia() == "host";
    link.emulated = op.getEmulated();
    link.stated = op.getStated();
    link.routed = op.getRouted();
    link.chunkBytes = op.getChunk().value_or(0);
    link.routes = readRoutes(op);
    // The verifier of hh.link makes sure of both ends.
    cluster.setLink(*cluster.find(op.getFrom()), *cluster.find(op.getTo()),
                    link);
  }
  return cluster;
}
