// Field by field.
#include "Specification.h"
#include "hethub/runtime/Error.h"

using namespace hethub;
using namespace hethub::runtime;

at::ScalarType hethub::runtime::scalarTypeOf(DType dtype) {
  switch (dtype) {
  case FLOAT32:
    return at::kFloat;
  case FLOAT64:
    return at::kDouble;
  case FLOAT16:
    return at::kHalf;
  case BFLOAT16:
    return at::kBFloat16;
  case INT8:
    return at::kChar;
  case INT16:
    return at::kShort;
  case INT32:
    return at::kInt;
  case INT64:
    return at::kLong;
  case UINT8:
    return at::kByte;
  case UINT16:
    return at::kUInt16;
  case UINT32:
    return at::kUInt32;
  case UINT64:
    return at::kUInt64;
  case BOOL:
    return at::kBool;
  case COMPLEX64:
    return at::kComplexFloat;
  case COMPLEX128:
    return at::kComplexDouble;
  case FLOAT8E4M3FN:
    return at::kFloat8_e4m3fn;
  case FLOAT8E4M3FNUZ:
    return at::kFloat8_e4m3fnuz;
  case FLOAT8E5M2:
    return at::kFloat8_e5m2;
  case FLOAT8E5M2FNUZ:
    return at::kFloat8_e5m2fnuz;
  case FLOAT8E8M0:
    return at::kFloat8_e8m0fnu;
  case STRING: // numbers of a table (DynamicOps.h)
    return at::kLong;
  default:
    runtime::fail("no tensor has element type ", DType_Name(dtype));
  }
}

namespace {
Shape shapeOf(const TensorType &type) {
  return {type.dims().begin(), type.dims().end()};
}

PortSpec portOf(const Port &port) {
  try {
    bool channelled = port.channel() >= 0;
    return {port.name(),
            scalarTypeOf(port.type().dtype()),
            shapeOf(port.type()),
            channelled ? port.channel() : -1,
            channelled ? -1 : port.index(),
            port.has_saved() ? port.saved() : -1,
            port.gradient_of(),
            port.update_of(),
            port.loss(),
            port.open(),
            port.type().dtype() == STRING};
  } catch (const Error &error) {
    runtime::fail("'", port.name(), "': ", error.what());
  }
}

FunctionSpec functionOf(const Function &function) {
  FunctionSpec spec;
  for (const Port &port : function.inputs())
    spec.inputs.push_back(portOf(port));
  for (const Port &port : function.outputs())
    spec.outputs.push_back(portOf(port));
  return spec;
}
} // namespace

const Function *hethub::runtime::findFunction(const StageProgram &program,
                                              const std::string &name) {
  for (const Function &function : program.functions())
    if (function.name() == name)
      return &function;
  return nullptr;
}

StageSpec hethub::runtime::specificationOf(const StageProgram &program) {
  StageSpec spec;
  spec.model = program.model();
  spec.planHash = program.plan_hash();
  spec.stage = program.stage();
  spec.microbatchAxisSize = program.microbatch_axis_size();
  for (const Stage &stage : program.stages())
    spec.stages.push_back(
        {stage.device_type(),
         stage.device_kind().empty() ? "cpu" : stage.device_kind(),
         std::max(1, stage.replicas()), stage.emulated_slowdown(),
         stage.profiled_forward_s(), stage.profiled_backward_s(),
         stage.profiled_weight_s(),
         stage.has_first_rank() ? stage.first_rank() : -1});
  const Function *forward = findFunction(program, "forward");
  if (!forward)
    runtime::fail("program of '", program.model(), "' has no function forward");
  FunctionSpec ports = functionOf(*forward);
  spec.inputs = std::move(ports.inputs);
  spec.outputs = std::move(ports.outputs);
  spec.training = program.training();
  if (const Function *backward = findFunction(program, "backward"))
    spec.backward = functionOf(*backward);
  if (const Function *weight = findFunction(program, "weight"))
    spec.weight = functionOf(*weight);
  for (const Parameter &parameter : program.parameters())
    if (parameter.gradient_stages_size() > 0)
      spec.trained.push_back({parameter.name(),
                              scalarTypeOf(parameter.type().dtype()),
                              shapeOf(parameter.type()),
                              {parameter.gradient_stages().begin(),
                               parameter.gradient_stages().end()}});
  for (const Channel &channel : program.channels())
    spec.channels.push_back(
        {channel.id(), channel.name(), channel.from_stage(), channel.to_stage(),
         scalarTypeOf(channel.type().dtype()), shapeOf(channel.type()),
         channel.emulated_latency_s(), channel.emulated_bytes_per_s(),
         channel.via_host(), channel.chunk_bytes()});
  spec.perMicrobatch = program.schedule().per_microbatch();
  spec.microbatches = std::max(1, program.schedule().microbatches());
  for (const ScheduleRow &row : program.schedule().rows())
    if (row.stage() == program.stage())
      spec.rows.push_back({static_cast<runtime::Action>(row.action()),
                           row.channel(), row.microbatch(), row.replica(),
                           row.peer_replica(), row.position()});
  return spec;
}
