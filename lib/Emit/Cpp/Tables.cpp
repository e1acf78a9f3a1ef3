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

void emitTables(const StageProgram &tables, raw_ostream &os) {
  const Function *forward = nullptr;
  for (const Function &function : tables.functions())
    if (function.name() == "forward")
      forward = &function;
  auto ports = [&](StringRef field, const auto &list) {
    os << "    ." << field << " = {\n";
    for (const Port &port : list)
      os << "        {.name = " << stringLiteral(port.name()) << ", "
         << typeOf(port.type()) << ", .channel = " << port.channel()
         << ", .index = " << (port.channel() < 0 ? port.index() : -1) << "},\n";
    os << "    },\n";
  };
  os << "static const rt::StageSpec spec = {\n"
     << "    .model = " << stringLiteral(tables.model()) << ",\n"
     << "    .planHash = " << stringLiteral(tables.plan_hash()) << ",\n"
     << "    .stage = " << tables.stage() << ",\n"
     << "    .stages = {\n";
  for (const Stage &stage : tables.stages())
    os << "        {.type = " << stringLiteral(stage.device_type())
       << ", .kind = " << stringLiteral(stage.device_kind())
       << ", .replicas = " << stage.replicas()
       << ", .emulatedSlowdown = " << literal(stage.emulated_slowdown())
       << ", .profiledForwardS = " << literal(stage.profiled_forward_s())
       << "},\n";
  os << "    },\n";
  ports("inputs", forward->inputs());
  ports("outputs", forward->outputs());
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
    os << "},\n";
  }
  os << "    },\n"
     << "    .microbatchAxisSize = " << tables.microbatch_axis_size() << ",\n"
     << "};\n\n";
}

} // namespace hethub::emit
