//===- Tables.cpp - ports, channels and rows of an emitted stage ----------===//

#include "Tables.h"
#include "Identifiers.h"
#include "Literals.h"

#include "hethub.pb.h"

using namespace llvm;

namespace hethub::emit {

static std::string typeOf(const TensorType &type) {
  return ".dtype = " + scalarType(type.dtype()).str() + ", .shape = " +
         literal(ArrayRef<int64_t>(type.dims().data(), type.dims_size()));
}

static StringRef actionName(Action action) {
  switch (action) {
  case RECEIVE:
    return "Receive";
  case FORWARD:
    return "Forward";
  case SEND:
    return "Send";
  case BACKWARD:
    return "Backward";
  case WEIGHT:
    return "Weight";
  case ALL_REDUCE:
    return "AllReduce";
  case OPTIMIZER_STEP:
    return "OptimizerStep";
  default:
    return "";
  }
}

/// What a port is: its channel, its place among the model's inputs or outputs,
/// its slot, or the parameter that it belongs to.
static std::string roleOf(const Port &port) {
  std::string text;
  if (port.has_saved())
    text = ", .saved = " + std::to_string(port.saved());
  else if (!port.gradient_of().empty())
    text = ", .gradientOf = " + stringLiteral(port.gradient_of());
  else if (!port.update_of().empty())
    text = ", .updateOf = " + stringLiteral(port.update_of());
  else
    text = ", .channel = " + std::to_string(port.channel()) + ", .index = " +
           std::to_string(port.channel() < 0 ? port.index() : -1);
  if (port.loss())
    text += ", .isLoss = true";
  if (port.open())
    text += ", .isOpen = true";
  if (port.type().dtype() == STRING)
    text += ", .isText = true";
  return text;
}

template <typename Ports>
static void emitPorts(StringRef field, const Ports &list, StringRef indent,
                      raw_ostream &os) {
  os << indent << '.' << field << " = {\n";
  for (const Port &port : list)
    os << indent << "    {.name = " << stringLiteral(port.name()) << ", "
       << typeOf(port.type()) << roleOf(port) << "},\n";
  os << indent << "},\n";
}

/// Fields that only training programs have.
static void emitTraining(const StageProgram &tables, raw_ostream &os) {
  if (!tables.training())
    return;
  os << "    .training = true,\n";
  for (const Function &function : tables.functions()) {
    if (function.name() != "backward" && function.name() != "weight")
      continue;
    os << "    ." << function.name() << " = {\n";
    emitPorts("inputs", function.inputs(), "        ", os);
    emitPorts("outputs", function.outputs(), "        ", os);
    os << "    },\n";
  }
  os << "    .trained = {\n";
  for (const Parameter &parameter : tables.parameters()) {
    if (parameter.gradient_stages().empty())
      continue;
    SmallVector<int64_t> stages(parameter.gradient_stages().begin(),
                                parameter.gradient_stages().end());
    os << "        {.name = " << stringLiteral(parameter.name()) << ", "
       << typeOf(parameter.type()) << ", .stages = " << literal(stages)
       << "},\n";
  }
  os << "    },\n";
}

void emitTables(const StageProgram &tables, raw_ostream &os) {
  const Function *forward = nullptr;
  for (const Function &function : tables.functions())
    if (function.name() == "forward")
      forward = &function;
  os << "static const rt::StageSpec spec = {\n"
     << "    .model = " << stringLiteral(tables.model()) << ",\n"
     << "    .planHash = " << stringLiteral(tables.plan_hash()) << ",\n"
     << "    .stage = " << tables.stage() << ",\n"
     << "    .stages = {\n";
  for (const Stage &stage : tables.stages()) {
    os << "        {.type = " << stringLiteral(stage.device_type())
       << ", .kind = " << stringLiteral(stage.device_kind())
       << ", .replicas = " << stage.replicas()
       << ", .emulatedSlowdown = " << literal(stage.emulated_slowdown())
       << ", .profiledForwardS = " << literal(stage.profiled_forward_s());
    if (tables.training())
      os << ", .profiledBackwardS = " << literal(stage.profiled_backward_s())
         << ", .profiledWeightS = " << literal(stage.profiled_weight_s());
    if (stage.has_first_rank())
      os << ", .firstRank = " << stage.first_rank();
    os << "},\n";
  }
  os << "    },\n";
  emitPorts("inputs", forward->inputs(), "    ", os);
  emitPorts("outputs", forward->outputs(), "    ", os);
  os << "    .channels = {\n";
  for (const Channel &channel : tables.channels()) {
    os << "        {.id = " << channel.id()
       << ", .name = " << stringLiteral(channel.name())
       << ", .fromStage = " << channel.from_stage()
       << ", .toStage = " << channel.to_stage() << ", "
       << typeOf(channel.type());
    if (channel.emulated_bytes_per_s() > 0)
      os << ", .emulatedLatencyS = " << literal(channel.emulated_latency_s())
         << ", .emulatedBytesPerS = "
         << literal(channel.emulated_bytes_per_s());
    if (channel.via_host())
      os << ", .viaHost = true";
    if (channel.chunk_bytes() > 0)
      os << ", .chunkBytes = " << channel.chunk_bytes();
    os << "},\n";
  }
  os << "    },\n"
     << "    .perMicrobatch = "
     << (tables.schedule().per_microbatch() ? "true" : "false") << ",\n"
     << "    .microbatches = " << tables.schedule().microbatches() << ",\n"
     << "    .rows = {\n";
  for (const ScheduleRow &row : tables.schedule().rows()) {
    os << "        {.action = rt::Action::" << actionName(row.action());
    if (row.channel() >= 0)
      os << ", .channel = " << row.channel();
    if (!tables.schedule().per_microbatch())
      os << ", .microbatch = " << row.microbatch()
         << ", .replica = " << row.replica()
         << ", .peerReplica = " << row.peer_replica();
    if (tables.stages(tables.stage()).has_first_rank())
      os << ", .position = " << row.position();
    os << "},\n";
  }
  os << "    },\n"
     << "    .microbatchAxisSize = " << tables.microbatch_axis_size() << ",\n";
  emitTraining(tables, os);
  os << "};\n\n";
}

} // namespace hethub::emit
