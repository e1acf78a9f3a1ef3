//===- StagePrograms.cpp - lowered programs as stage-program files --------===//

#include "hethub/Emit/Program/StagePrograms.h"

#include "hethub.pb.h"
#include "hethub/Dialect/ATen/IR/Call.h"
#include "hethub/Dialect/HH/IR/HHDialect.h"
#include "hethub/Dialect/HH/Transforms/ClusterOps.h"
#include "hethub/Dialect/HH/Transforms/ScheduleTable.h"
#include "hethub/Emit/Program/Origins.h"
#include "hethub/Emit/Program/Types.h"
#include "hethub/Support/Names.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/SHA256.h"

using namespace mlir;

namespace hethub::emit {

namespace {

/// Turns one hh.program into a StageProgram. Values are numbered in the order
/// in which they are met.
class ProgramBuilder {
public:
  ProgramBuilder(hh::ProgramOp op, const OriginTable &origins,
                 StageProgram &program)
      : op(op), origins(origins), program(program) {}

  LogicalResult build();

private:
  int32_t number(Value value) {
    return numbers.try_emplace(value, numbers.size()).first->second;
  }
  LogicalResult fillType(Operation *at, Type type, TensorType &out);
  LogicalResult addPort(Operation *at, Function &function, bool input,
                        Value value, int channel, int index, StringRef name);
  LogicalResult addParameter(hh::GetParameterOp get);
  LogicalResult addConstant(hh::ConstantOp constant);
  LogicalResult addStartUp(hh::StartUpOp startUp);
  LogicalResult addArgument(const aten::Argument &argument, Operation *at,
                            Argument &out);
  template <typename Body>
  LogicalResult addBlock(Block &block, Body *body);
  template <typename Body>
  LogicalResult addCall(aten::CallView call, Body *body);
  template <typename Body>
  LogicalResult addBranch(hh::IfOp branch, Body *body);
  LogicalResult addChannel(Operation *at, Value value, int64_t id, int64_t from,
                           int64_t to);

  hh::ProgramOp op;
  const OriginTable &origins;
  StageProgram &program;
  Function *forward = nullptr;
  DenseMap<Value, int32_t> numbers;
  llvm::StringMap<int32_t> parameters;
  DenseMap<int64_t, int32_t> usedOrigins;
};

} // namespace

LogicalResult ProgramBuilder::fillType(Operation *at, Type type,
                                       TensorType &out) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor || !setTensorType(tensor, out))
    return at->emitError("values of a program must be tensors of a type that "
                         "LibTorch has, got: ")
           << type;
  return success();
}

LogicalResult ProgramBuilder::addPort(Operation *at, Function &function,
                                      bool input, Value value, int channel,
                                      int index, StringRef name) {
  Port *port = input ? function.add_inputs() : function.add_outputs();
  port->set_value(number(value));
  port->set_name(name.str());
  port->set_channel(channel);
  port->set_index(index);
  return fillType(at, value.getType(), *port->mutable_type());
}

LogicalResult ProgramBuilder::addParameter(hh::GetParameterOp get) {
  // Several loads of one parameter are one value.
  auto [it, isNew] = parameters.try_emplace(
      get.getParameter(), static_cast<int32_t>(numbers.size()));
  numbers[get.getResult()] = it->second;
  if (!isNew)
    return success();
  Parameter *parameter = program.add_parameters();
  parameter->set_value(it->second);
  parameter->set_name(get.getParameter().str());
  return fillType(get, get.getType(), *parameter->mutable_type());
}

LogicalResult ProgramBuilder::addConstant(hh::ConstantOp op) {
  auto value = dyn_cast<DenseElementsAttr>(op.getValue());
  if (!value)
    return op.emitError("constants of a program must be dense, got: ")
           << op.getValue();
  Constant *constant = program.add_constants();
  constant->set_value(number(op.getResult()));
  constant->set_data(constantBytes(value));
  return fillType(op, op.getType(), *constant->mutable_type());
}

LogicalResult ProgramBuilder::addStartUp(hh::StartUpOp startUp) {
  Function *function = nullptr;
  for (Function &existing : *program.mutable_functions())
    if (existing.name() == "start_up")
      function = &existing;
  if (!function) {
    function = program.add_functions();
    function->set_name("start_up");
  }
  Block &block = startUp.getBody().front();
  if (failed(addBlock(block, function->mutable_body())))
    return failure();
  for (auto [result, value] :
       llvm::zip(startUp.getResults(), block.getTerminator()->getOperands())) {
    numbers[result] = number(value);
    if (failed(addPort(startUp, *function, /*input=*/false, value, -1,
                       function->outputs_size(), valueName(value))))
      return failure();
  }
  return success();
}

LogicalResult ProgramBuilder::addArgument(const aten::Argument &argument,
                                          Operation *at, Argument &out) {
  using aten::Kind;
  Attribute attribute = argument.attribute;
  if (argument.layout->kind == Kind::TensorList) {
    Values *list = out.mutable_values();
    for (Value value : argument.values)
      list->add_value(value ? number(value) : -1);
    return success();
  }
  if (argument.isNone()) {
    out.set_none(true);
    return success();
  }
  switch (argument.layout->kind) {
  case Kind::Tensor:
    out.set_value(number(argument.values.front()));
    return success();
  case Kind::Int:
    out.set_int_(cast<IntegerAttr>(attribute).getInt());
    return success();
  case Kind::Float:
    out.set_float_(cast<FloatAttr>(attribute).getValueAsDouble());
    return success();
  case Kind::Bool:
    out.set_boolean(cast<BoolAttr>(attribute).getValue());
    return success();
  case Kind::Scalar:
    if (auto boolean = dyn_cast<BoolAttr>(attribute))
      out.set_boolean(boolean.getValue());
    else if (auto integer = dyn_cast<IntegerAttr>(attribute))
      out.set_int_(integer.getInt());
    else
      out.set_float_(cast<FloatAttr>(attribute).getValueAsDouble());
    return success();
  case Kind::Ints:
    out.mutable_ints();
    for (int64_t value : cast<DenseI64ArrayAttr>(attribute).asArrayRef())
      out.mutable_ints()->add_value(value);
    return success();
  case Kind::Floats:
    out.mutable_floats();
    for (double value : cast<DenseF64ArrayAttr>(attribute).asArrayRef())
      out.mutable_floats()->add_value(value);
    return success();
  case Kind::Bools:
    out.mutable_bools();
    for (bool value : cast<DenseBoolArrayAttr>(attribute).asArrayRef())
      out.mutable_bools()->add_value(value);
    return success();
  case Kind::Str:
    out.set_str(cast<StringAttr>(attribute).str());
    return success();
  case Kind::ScalarType:
    if (auto dtype = dtypeNumber(cast<TypeAttr>(attribute).getValue())) {
      out.set_dtype(static_cast<DType>(*dtype));
      return success();
    }
    return at->emitError("element type must be one that LibTorch has, got: ")
           << attribute;
  case Kind::MemoryFormat:
    out.set_memory_format(cast<IntegerAttr>(attribute).getInt());
    return success();
  default:
    return at->emitError("argument must not be set: ") << argument.layout->name;
  }
}

template <typename Body>
LogicalResult ProgramBuilder::addCall(aten::CallView view, Body *body) {
  Call *call = body->Add()->mutable_call();
  call->set_op(view.schema().str());
  for (unsigned i = 0; i < view.size(); ++i)
    if (failed(addArgument(view.argument(i), view.operation(),
                           *call->add_arguments())))
      return failure();
  for (Value result : view.operation()->getResults())
    call->add_results(result.use_empty() ? -1 : number(result));
  int64_t origin = origins.indexOf(view.operation()->getLoc());
  auto [it, isNew] = usedOrigins.try_emplace(origin, program.origins_size());
  if (isNew)
    *program.add_origins() = origins.at(origin, view.operation()->getLoc());
  call->set_origin(it->second);
  return success();
}

template <typename Body>
LogicalResult ProgramBuilder::addBranch(hh::IfOp op, Body *body) {
  Branch *branch = body->Add()->mutable_branch();
  branch->set_condition(number(op.getCondition()));
  if (failed(addBlock(op.getThenBody().front(), branch->mutable_then_body())) ||
      failed(addBlock(op.getElseBody().front(), branch->mutable_else_body())))
    return failure();
  for (Value value : op.getThenBody().front().getTerminator()->getOperands())
    branch->add_then_results(number(value));
  for (Value value : op.getElseBody().front().getTerminator()->getOperands())
    branch->add_else_results(number(value));
  for (Value value : op.getResults())
    branch->add_results(number(value));
  return success();
}

LogicalResult ProgramBuilder::addChannel(Operation *at, Value value, int64_t id,
                                         int64_t from, int64_t to) {
  Channel *channel = program.add_channels();
  channel->set_id(id);
  channel->set_name(valueName(value));
  channel->set_from_stage(from);
  channel->set_to_stage(to);
  channel->set_bytes(hh::byteSize(value.getType()));
  return fillType(at, value.getType(), *channel->mutable_type());
}

template <typename Body>
LogicalResult ProgramBuilder::addBlock(Block &block, Body *body) {
  for (Operation &op : block) {
    LogicalResult added =
        llvm::TypeSwitch<Operation *, LogicalResult>(&op)
            .Case([&](hh::GetParameterOp get) { return addParameter(get); })
            .Case(
                [&](hh::ConstantOp constant) { return addConstant(constant); })
            .Case([&](hh::StartUpOp startUp) { return addStartUp(startUp); })
            .Case([&](hh::IfOp branch) { return addBranch(branch, body); })
            .Case([&](hh::RecvOp recv) -> LogicalResult {
              if (failed(addChannel(recv, recv.getResult(), recv.getChannel(),
                                    recv.getFrom(),
                                    static_cast<int64_t>(this->op.getStage()))))
                return failure();
              return addPort(recv, *forward, /*input=*/true, recv.getResult(),
                             recv.getChannel(), -1,
                             valueName(recv.getResult()));
            })
            .Case([&](hh::SendOp send) -> LogicalResult {
              if (failed(addChannel(send, send.getValue(), send.getChannel(),
                                    static_cast<int64_t>(this->op.getStage()),
                                    send.getTo())))
                return failure();
              return addPort(send, *forward, /*input=*/false, send.getValue(),
                             send.getChannel(), -1, valueName(send.getValue()));
            })
            .template Case<hh::YieldOp, hh::ReturnOp>(
                [](Operation *) { return success(); })
            .Default([&](Operation *other) -> LogicalResult {
              if (aten::CallView call{other})
                return addCall(call, body);
              return other->emitError("operation of a program must be lowered "
                                      "to aten, got: ")
                     << other->getName();
            });
    if (failed(added))
      return failure();
  }
  return success();
}

LogicalResult ProgramBuilder::build() {
  program.set_version(1);
  program.set_stage(op.getStage());
  // "start_up" may be added while the body is walked: a repeated field moves
  // its elements, a message of its own stays.
  Function function;
  forward = &function;
  function.set_name("forward");
  for (BlockArgument argument : op.getBody().getArguments()) {
    auto index =
        op.getArgAttrOfType<IntegerAttr>(argument.getArgNumber(), "onnx.index");
    if (failed(addPort(op, function, /*input=*/true, argument, -1,
                       index ? index.getInt() : argument.getArgNumber(),
                       valueName(argument))))
      return failure();
  }
  Block &block = op.getBody().front();
  if (failed(addBlock(block, function.mutable_body())))
    return failure();
  for (auto [position, value] :
       llvm::enumerate(block.getTerminator()->getOperands())) {
    auto name = op.getResultAttrOfType<StringAttr>(position, "onnx.name");
    auto index = op.getResultAttrOfType<IntegerAttr>(position, "onnx.index");
    if (failed(addPort(op, function, /*input=*/false, value, -1,
                       index ? index.getInt() : position,
                       name ? name.getValue() : StringRef())))
      return failure();
  }
  *program.add_functions() = std::move(function);
  return success();
}

/// All stages of the plan, with device kinds and what is to be emulated.
static void addStages(const cluster::Cluster &cluster,
                      ArrayRef<hh::ProgramOp> programs, StageProgram &out) {
  for (hh::ProgramOp program : programs) {
    // The verifier of hh.program makes sure of the device type.
    const cluster::DeviceType &type =
        cluster.types[*cluster.find(program.getDevice())];
    Stage *stage = out.add_stages();
    stage->set_device_type(type.name);
    stage->set_device_kind(type.kind);
    stage->set_replicas(program.getReplicas());
    if (!(type.emulatedSlowdown > 0))
      continue;
    // The plan's times are those of the emulated device.
    stage->set_emulated_slowdown(type.emulatedSlowdown);
    if (auto seconds =
            program->getAttrOfType<FloatAttr>(hh::forwardSecondsAttrName))
      stage->set_profiled_forward_s(seconds.getValueAsDouble() /
                                    type.emulatedSlowdown);
  }
}

/// Channels over a link that the cluster file wants emulated get its figures.
static void addEmulatedLinks(const cluster::Cluster &cluster,
                             ArrayRef<hh::ProgramOp> programs,
                             StageProgram &out) {
  auto typeOf = [&](hh::ProgramOp program) {
    return *cluster.find(program.getDevice());
  };
  for (Channel &channel : *out.mutable_channels()) {
    cluster::Link link = cluster.link(typeOf(programs[channel.from_stage()]),
                                      typeOf(programs[channel.to_stage()]));
    if (!link.emulated)
      continue;
    channel.set_emulated_latency_s(link.latency);
    channel.set_emulated_bytes_per_s(link.bandwidth);
  }
}

/// The rows of one stage, from the schedule of all.
static void addSchedule(const simulator::Schedule &table, StageProgram &out) {
  Schedule *schedule = out.mutable_schedule();
  schedule->set_per_microbatch(table.perMicrobatch);
  schedule->set_microbatches(table.microbatches);
  for (const simulator::Row &from : table.rows) {
    if (from.stage != out.stage())
      continue;
    ScheduleRow *row = schedule->add_rows();
    row->set_stage(from.stage);
    row->set_replica(from.replica);
    row->set_action(static_cast<Action>(from.action));
    row->set_microbatch(from.microbatch);
    row->set_peer_stage(from.peerStage);
    row->set_peer_replica(from.peerReplica);
    row->set_channel(from.channel);
    row->set_bytes(from.bytes);
  }
}

LogicalResult
buildStagePrograms(ModuleOp module, const ModelInfo &model,
                   std::vector<std::unique_ptr<StageProgram>> &programs) {
  SmallVector<hh::ProgramOp> ops(module.getOps<hh::ProgramOp>());
  llvm::sort(ops, [](hh::ProgramOp a, hh::ProgramOp b) {
    return a.getStage() < b.getStage();
  });
  if (ops.empty())
    return module.emitError("module must hold at least one hh.program");
  std::optional<simulator::Schedule> schedule = hh::readSchedule(module);
  cluster::Cluster cluster = hh::readCluster(module);
  OriginTable origins(module);
  for (auto [index, op] : llvm::enumerate(ops)) {
    if (op.getStage() != index)
      return op.emitError("stages must be numbered from 0 without gaps, got: ")
             << op.getStage();
    auto program = std::make_unique<StageProgram>();
    program->set_model(model.name);
    program->set_microbatch_axis_size(model.microbatchAxisSize);
    if (failed(ProgramBuilder(op, origins, *program).build()))
      return failure();
    if (!schedule)
      return module.emitError(
          "module must hold an hh.schedule: run hh-schedule");
    addStages(cluster, ops, *program);
    addEmulatedLinks(cluster, ops, *program);
    addSchedule(*schedule, *program);
    programs.push_back(std::move(program));
  }
  llvm::SHA256 hash;
  for (const auto &program : programs)
    hash.update(program->SerializeAsString());
  std::string digest =
      llvm::toHex(ArrayRef<uint8_t>(hash.final()), /*LowerCase=*/true);
  for (const auto &program : programs)
    program->set_plan_hash(digest);
  return success();
}

std::string serializeProgramFile(const StageProgram &program) {
  ProgramFile file;
  file.set_program(program.SerializeAsString());
  auto digest = llvm::SHA256::hash(
      ArrayRef(reinterpret_cast<const uint8_t *>(file.program().data()),
               file.program().size()));
  file.set_sha256(digest.data(), digest.size());
  return file.SerializeAsString();
}

} // namespace hethub::emit
