//===- ScheduleTable.cpp - programs as the simulator sees them ------------===//

#include "hethub/Dialect/HH/Transforms/ScheduleTable.h"

#include "hethub/Dialect/HH/IR/HHDialect.h"
#include "hethub/Dialect/HH/Transforms/ClusterOps.h"
#include "hethub/Dialect/HH/Transforms/StageParts.h"
#include "hethub/Planner/SimulatePlan.h"
#include "hethub/Support/Names.h"

#include "mlir/IR/Builders.h"

#include <map>

using namespace mlir;
using namespace hethub;
using namespace hethub::hh;

static simulator::PipelineStage readStage(const StageParts &parts,
                                          const cluster::Cluster &cluster) {
  ProgramOp forward = parts.forward;
  auto seconds = [&](StringRef name) {
    auto value = forward->getAttrOfType<FloatAttr>(name);
    return value ? value.getValueAsDouble() : 0;
  };
  auto count = [&](StringRef name) {
    auto value = forward->getAttrOfType<IntegerAttr>(name);
    return value ? static_cast<int>(value.getInt()) : 0;
  };
  simulator::PipelineStage stage;
  stage.name =
      ("stage " + Twine(forward.getStage()) + " (" + forward.getDevice() + ")")
          .str();
  stage.replicas = static_cast<int>(forward.getReplicas());
  stage.forwardSeconds = seconds(forwardSecondsAttrName);
  if (auto type = cluster.find(forward.getDevice()))
    stage.overheadSeconds = cluster.types[*type].runtime.microbatch;
  stage.backwardSeconds = parts.backwardSeconds();
  stage.weightSeconds = parts.weightSeconds();
  stage.inFlight = count(inFlightAttrName);
  stage.inFlightLimit = count(inFlightLimitAttrName);
  if (forward->hasAttr(firstRankAttrName))
    stage.firstRank = count(firstRankAttrName);
  stage.hasBackward = static_cast<bool>(parts.backward);
  stage.hasWeight = static_cast<bool>(parts.weight);
  for (auto [parameter, type] : parts.gradients())
    stage.gradientBytes += byteSize(type);
  return stage;
}

FailureOr<simulator::Pipeline> hh::readPipeline(ModuleOp module) {
  FailureOr<std::vector<StageParts>> stages = readStages(module);
  if (failed(stages))
    return failure();
  // As the plan was predicted: tables that are made in simulated time then are
  // the predicted ones.
  cluster::Cluster cluster = readCluster(module);
  if (llvm::Error error = cluster::readRuntimeFigures(cluster))
    return module.emitError() << llvm::toString(std::move(error));
  simulator::Pipeline pipeline;
  for (const StageParts &parts : *stages)
    pipeline.stages.push_back(readStage(parts, cluster));
  for (const auto &[parameter, sharing] : gradientStages(*stages))
    if (sharing.size() > 1)
      for (unsigned stage : sharing)
        pipeline.stages[stage].sharesParameters = true;

  std::map<int64_t, SendOp> sends;
  std::map<int64_t, RecvOp> recvs;
  for (auto program : module.getOps<ProgramOp>()) {
    for (auto send : program.getOps<SendOp>())
      if (!sends.try_emplace(send.getChannel(), send).second)
        return send.emitError("a channel must have one sender, got two on "
                              "channel ")
               << send.getChannel();
    for (auto recv : program.getOps<RecvOp>())
      if (!recvs.try_emplace(recv.getChannel(), recv).second)
        return recv.emitError("a channel must have one receiver, got two on "
                              "channel ")
               << recv.getChannel();
  }
  for (auto &[channel, recv] : recvs)
    if (!sends.count(channel))
      return recv.emitError("a channel must have a sender, got none on "
                            "channel ")
             << channel;
  for (auto &[number, send] : sends) {
    auto recv = recvs.find(number);
    if (number != static_cast<int64_t>(pipeline.channels.size()))
      return send.emitError("channels must be numbered from 0 without gaps, "
                            "got: ")
             << number << " at place " << pipeline.channels.size();
    if (recv == recvs.end())
      return send.emitError("a channel must have a receiver, got none on "
                            "channel ")
             << number;
    auto sender = send->getParentOfType<ProgramOp>();
    auto receiver = recv->second->getParentOfType<ProgramOp>();
    if (send.getTo() != receiver.getStage() ||
        recv->second.getFrom() != sender.getStage())
      return recv->second.emitError("both ends of a channel must name each "
                                    "other, got: channel ")
             << number << " from stage " << sender.getStage() << " to "
             << send.getTo() << ", received by stage " << receiver.getStage()
             << " from " << recv->second.getFrom();
    if (send.getValue().getType() != recv->second.getType())
      return recv->second.emitError("both ends of a channel must have one "
                                    "type, ")
             << send.getValue().getType() << " is sent on channel " << number
             << ", got: " << recv->second.getType();

    simulator::Channel channel;
    channel.name = nodeName(send).str();
    channel.fromStage = sender.getStage();
    channel.toStage = receiver.getStage();
    channel.bytes = byteSize(recv->second.getType());
    auto from = cluster.find(sender.getDevice());
    auto to = cluster.find(receiver.getDevice());
    // Between stages of one rank nothing travels.
    bool isLocal = pipeline.stages[channel.fromStage].firstRank >= 0 &&
                   pipeline.stages[channel.fromStage].firstRank ==
                       pipeline.stages[channel.toStage].firstRank;
    if (from && to && !isLocal)
      planner::setChannelTimes(cluster, *from, *to, channel);
    // Stages are devices of their own: messages share a link with those of the
    // same two stages only.
    channel.link =
        channel.fromStage * static_cast<int>(stages->size()) + channel.toStage;
    pipeline.channels.push_back(channel);
  }
  return pipeline;
}

std::optional<simulator::Schedule> hh::readSchedule(ModuleOp module) {
  for (auto op : module.getOps<ScheduleOp>()) {
    simulator::Schedule schedule;
    schedule.perMicrobatch = !op.getMicrobatches();
    schedule.microbatches = op.getMicrobatches().value_or(1);
    for (ArrayRef<int64_t> rest = op.getRows(); !rest.empty();
         rest = rest.drop_front(ScheduleOp::columns)) {
      simulator::Row row;
      row.stage = rest[0];
      row.replica = rest[1];
      row.action = static_cast<simulator::Action>(rest[2]);
      row.microbatch = rest[3];
      row.peerStage = rest[4];
      row.peerReplica = rest[5];
      row.channel = rest[6];
      row.bytes = rest[7];
      schedule.rows.push_back(row);
      schedule.training |= row.action == simulator::Action::OptimizerStep;
    }
    return schedule;
  }
  return std::nullopt;
}

void hh::writeSchedule(ModuleOp module, const simulator::Schedule &schedule,
                       const simulator::Pipeline &pipeline) {
  for (Operation &op : llvm::make_early_inc_range(*module.getBody()))
    if (isa<ScheduleOp>(op))
      op.erase();
  // The table reads best rank by rank; the order within a rank is what counts.
  std::vector<simulator::Row> rows = schedule.rows;
  std::vector<int> first = simulator::firstRanks(pipeline);
  llvm::stable_sort(rows, [&](const auto &a, const auto &b) {
    return first[a.stage] + a.replica < first[b.stage] + b.replica;
  });
  SmallVector<int64_t> numbers;
  for (const simulator::Row &row : rows)
    numbers.append({row.stage, row.replica, static_cast<int64_t>(row.action),
                    row.microbatch, row.peerStage, row.peerReplica, row.channel,
                    row.bytes});
  auto builder = OpBuilder::atBlockEnd(module.getBody());
  ScheduleOp::create(builder, module.getLoc(),
                     schedule.perMicrobatch
                         ? IntegerAttr()
                         : builder.getI64IntegerAttr(schedule.microbatches),
                     builder.getDenseI64ArrayAttr(numbers));
}
