//===- StagePrograms.cpp - lowered programs as stage-program files --------===//

#include "hethub/Emit/Program/StagePrograms.h"

#include "hethub.pb.h"
#include "hethub/Dialect/ATen/IR/Call.h"
#include "hethub/Dialect/HH/IR/HHDialect.h"
#include "hethub/Dialect/HH/Transforms/ClusterOps.h"
#include "hethub/Dialect/HH/Transforms/ScheduleTable.h"
#include "hethub/Dialect/HH/Transforms/StageParts.h"
#include "hethub/Dialect/ONNX/IR/ONNXDialect.h"
#include "hethub/Emit/Program/Origins.h"
#include "hethub/Emit/Program/Types.h"
#include "hethub/Support/Names.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/SHA256.h"

#include <map>

using namespace mlir;

namespace hethub::emit {

namespace {

/// Turns the programs of a stage into a StageProgram. Values are numbered in
/// the order in which they are met, over all functions: parameters and
/// constants are one value wherever they are read.
class ProgramBuilder {
public:
  ProgramBuilder(const hh::StageParts &parts, const OriginTable &origins,
                 const hh::GradientStages &gradientStages,
                 StageProgram &program)
      : parts(parts), origins(origins), gradientStages(gradientStages),
        program(program) {}

  LogicalResult build();

private:
  int32_t number(Value value) {
    return numbers.try_emplace(value, numbers.size()).first->second;
  }
  LogicalResult fillType(Operation *at, Type type, TensorType &out);
  FailureOr<Port *> addPort(Operation *at, Function &to, bool input,
                            Value value, StringRef name);
  LogicalResult addModelPort(hh::ProgramOp op, bool input, Value value,
                             unsigned position, DictionaryAttr attributes);
  LogicalResult addFunction(hh::ProgramOp op, StringRef name);
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
  template <typename Body>
  LogicalResult addLoop(hh::LoopOp loop, Body *body);
  LogicalResult addChannel(Operation *at, bool input, Value value, int64_t id,
                           int64_t from, int64_t to);

  hh::StageParts parts;
  const OriginTable &origins;
  const hh::GradientStages &gradientStages;
  StageProgram &program;
  Function *function = nullptr; ///< the one that is built
  DenseMap<Value, int32_t> numbers;
  llvm::StringMap<int32_t> parameters;
  DenseMap<Attribute, int32_t> constants;
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

FailureOr<Port *> ProgramBuilder::addPort(Operation *at, Function &to,
                                          bool input, Value value,
                                          StringRef name) {
  Port *port = input ? to.add_inputs() : to.add_outputs();
  port->set_value(number(value));
  port->set_name(name.str());
  port->set_channel(-1);
  port->set_index(-1);
  Type type = value.getType();
  if (!isa<RankedTensorType>(type)) {
    // What elements it has, where that is known: a tensor of any rank, a
    // sequence or an optional.
    port->set_open(true);
    while (isa<ox::SeqType, ox::OptType>(type))
      type = isa<ox::SeqType>(type) ? cast<ox::SeqType>(type).getElementType()
                                    : cast<ox::OptType>(type).getElementType();
    if (auto tensor = dyn_cast<mlir::TensorType>(type))
      type = RankedTensorType::get({}, tensor.getElementType());
  }
  if (failed(fillType(at, type, *port->mutable_type())))
    return failure();
  return port;
}

/// An argument or result of the program: what it is stands in its attributes.
LogicalResult ProgramBuilder::addModelPort(hh::ProgramOp op, bool input,
                                           Value value, unsigned position,
                                           DictionaryAttr attributes) {
  auto get = [&](StringRef name) {
    return attributes ? attributes.get(name) : Attribute();
  };
  auto gradient =
      dyn_cast_or_null<FlatSymbolRefAttr>(get(hh::gradientAttrName));
  auto update = dyn_cast_or_null<FlatSymbolRefAttr>(get(hh::updateAttrName));
  auto saved = dyn_cast_or_null<IntegerAttr>(get(hh::savedAttrName));
  auto name = dyn_cast_or_null<StringAttr>(get("onnx.name"));
  FailureOr<Port *> port = addPort(op, *function, input, value,
                                   name       ? name.getValue()
                                   : gradient ? gradient.getValue()
                                              : StringRef(valueName(value)));
  if (failed(port))
    return failure();
  (*port)->set_loss(bool(get(hh::lossAttrName)));
  if (saved)
    (*port)->set_saved(saved.getInt());
  else if (gradient)
    (*port)->set_gradient_of(gradient.getValue().str());
  else if (update)
    (*port)->set_update_of(update.getValue().str());
  else if (auto index = dyn_cast_or_null<IntegerAttr>(get("onnx.index")))
    (*port)->set_index(index.getInt());
  else
    (*port)->set_index(position);
  return success();
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
  auto trained = gradientStages.find(get.getParameterAttr().getAttr());
  if (trained != gradientStages.end() &&
      llvm::is_contained(trained->second, parts.forward.getStage()))
    for (unsigned stage : trained->second)
      parameter->add_gradient_stages(stage);
  return fillType(get, get.getType(), *parameter->mutable_type());
}

LogicalResult ProgramBuilder::addConstant(hh::ConstantOp op) {
  auto value = dyn_cast<DenseElementsAttr>(op.getValue());
  if (!value)
    return op.emitError("constants of a program must be dense, got: ")
           << op.getValue();
  auto [it, isNew] =
      constants.try_emplace(value, static_cast<int32_t>(numbers.size()));
  numbers[op.getResult()] = it->second;
  if (!isNew)
    return success();
  Constant *constant = program.add_constants();
  constant->set_value(it->second);
  if (auto text = dyn_cast<DenseStringElementsAttr>(value))
    for (StringRef element : text.getValues<StringRef>())
      constant->add_strings(element.str());
  else
    constant->set_data(constantBytes(value));
  return fillType(op, op.getType(), *constant->mutable_type());
}

LogicalResult ProgramBuilder::addStartUp(hh::StartUpOp startUp) {
  Function *once = nullptr;
  for (Function &existing : *program.mutable_functions())
    if (existing.name() == "start_up")
      once = &existing;
  if (!once) {
    once = program.add_functions();
    once->set_name("start_up");
  }
  Block &block = startUp.getBody().front();
  if (failed(addBlock(block, once->mutable_body())))
    return failure();
  for (auto [result, value] :
       llvm::zip(startUp.getResults(), block.getTerminator()->getOperands())) {
    numbers[result] = number(value);
    FailureOr<Port *> port =
        addPort(startUp, *once, /*input=*/false, value, valueName(value));
    if (failed(port))
      return failure();
    (*port)->set_index(once->outputs_size() - 1);
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

template <typename Body>
LogicalResult ProgramBuilder::addLoop(hh::LoopOp op, Body *body) {
  Loop *loop = body->Add()->mutable_loop();
  Block &block = op.getBody().front();
  loop->set_trip_count(number(op.getTripCount()));
  loop->set_condition(number(op.getCondition()));
  for (Value value : op.getInitial())
    loop->add_initial(number(value));
  loop->set_iteration(number(block.getArgument(0)));
  loop->set_condition_in(number(block.getArgument(1)));
  for (BlockArgument argument : block.getArguments().drop_front(2))
    loop->add_carried_in(number(argument));
  if (failed(addBlock(block, loop->mutable_body())))
    return failure();
  size_t carried = op.getInitial().size();
  OperandRange yielded = block.getTerminator()->getOperands();
  loop->set_condition_out(number(yielded.front()));
  for (auto [index, value] : llvm::enumerate(yielded.drop_front())) {
    if (index < carried) {
      loop->add_carried_out(number(value));
      continue;
    }
    loop->add_stacked(number(value));
    if (failed(fillType(op, op.getResult(index).getType(),
                        *loop->add_stacked_types())))
      return failure();
  }
  for (Value result : op.getResults())
    loop->add_results(result.use_empty() ? -1 : number(result));
  return success();
}

LogicalResult ProgramBuilder::addChannel(Operation *at, bool input, Value value,
                                         int64_t id, int64_t from, int64_t to) {
  Channel *channel = program.add_channels();
  channel->set_id(id);
  channel->set_name(valueName(value));
  channel->set_from_stage(from);
  channel->set_to_stage(to);
  channel->set_bytes(hh::byteSize(value.getType()));
  if (failed(fillType(at, value.getType(), *channel->mutable_type())))
    return failure();
  FailureOr<Port *> port =
      addPort(at, *function, input, value, valueName(value));
  if (failed(port))
    return failure();
  (*port)->set_channel(id);
  return success();
}

template <typename Body>
LogicalResult ProgramBuilder::addBlock(Block &block, Body *body) {
  auto stage = static_cast<int64_t>(parts.forward.getStage());
  for (Operation &op : block) {
    LogicalResult added =
        llvm::TypeSwitch<Operation *, LogicalResult>(&op)
            .Case([&](hh::GetParameterOp get) { return addParameter(get); })
            .Case(
                [&](hh::ConstantOp constant) { return addConstant(constant); })
            .Case([&](hh::StartUpOp startUp) { return addStartUp(startUp); })
            .Case([&](hh::IfOp branch) { return addBranch(branch, body); })
            .Case([&](hh::LoopOp loop) { return addLoop(loop, body); })
            .Case([&](hh::CastOp cast) {
              numbers[cast.getResult()] = number(cast.getValue());
              return success();
            })
            .Case([&](hh::RecvOp recv) {
              return addChannel(recv, /*input=*/true, recv.getResult(),
                                recv.getChannel(), recv.getFrom(), stage);
            })
            .Case([&](hh::SendOp send) {
              return addChannel(send, /*input=*/false, send.getValue(),
                                send.getChannel(), stage, send.getTo());
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

LogicalResult ProgramBuilder::addFunction(hh::ProgramOp op, StringRef name) {
  // "start_up" may be added while the body is walked: a repeated field moves
  // its elements, a message of its own stays.
  Function built;
  function = &built;
  built.set_name(name.str());
  for (BlockArgument argument : op.getBody().getArguments())
    if (failed(addModelPort(op, /*input=*/true, argument,
                            argument.getArgNumber(),
                            op.getArgAttrDict(argument.getArgNumber()))))
      return failure();
  Block &block = op.getBody().front();
  if (failed(addBlock(block, built.mutable_body())))
    return failure();
  for (auto [position, value] :
       llvm::enumerate(block.getTerminator()->getOperands()))
    if (failed(addModelPort(op, /*input=*/false, value, position,
                            op.getResultAttrDict(position))))
      return failure();
  *program.add_functions() = std::move(built);
  return success();
}

LogicalResult ProgramBuilder::build() {
  program.set_version(1);
  program.set_stage(parts.forward.getStage());
  if (failed(addFunction(parts.forward, "forward")) ||
      (parts.backward && failed(addFunction(parts.backward, "backward"))) ||
      (parts.weight && failed(addFunction(parts.weight, "weight"))))
    return failure();
  return success();
}

/// All stages of the plan, with device kinds and what is to be emulated.
static void addStages(const cluster::Cluster &cluster,
                      ArrayRef<hh::StageParts> stages, StageProgram &out) {
  for (const hh::StageParts &parts : stages) {
    hh::ProgramOp program = parts.forward;
    // The verifier of hh.program makes sure of the device type.
    const cluster::DeviceType &type =
        cluster.types[*cluster.find(program.getDevice())];
    Stage *stage = out.add_stages();
    stage->set_device_type(type.name);
    stage->set_device_kind(type.kind);
    stage->set_replicas(program.getReplicas());
    if (auto rank = program->getAttrOfType<IntegerAttr>(hh::firstRankAttrName))
      stage->set_first_rank(rank.getInt());
    if (!(type.emulatedSlowdown > 0))
      continue;
    // The plan's times are those of the emulated device.
    stage->set_emulated_slowdown(type.emulatedSlowdown);
    if (auto seconds =
            program->getAttrOfType<FloatAttr>(hh::forwardSecondsAttrName))
      stage->set_profiled_forward_s(seconds.getValueAsDouble() /
                                    type.emulatedSlowdown);
    double weight = parts.weightSeconds();
    stage->set_profiled_backward_s((parts.backwardSeconds() - weight) /
                                   type.emulatedSlowdown);
    stage->set_profiled_weight_s(weight / type.emulatedSlowdown);
  }
}

/// Channels know the way that the cluster file or a measurement has chosen for
/// messages of their size, and the figures of one that is to be emulated.
static void addLinks(const cluster::Cluster &cluster,
                     ArrayRef<hh::StageParts> stages, StageProgram &out) {
  auto typeOf = [&](int64_t stage) {
    hh::ProgramOp program = stages[stage].forward;
    return *cluster.find(program.getDevice());
  };
  for (Channel &channel : *out.mutable_channels()) {
    cluster::Link link =
        cluster.linkFor(typeOf(channel.from_stage()),
                        typeOf(channel.to_stage()), channel.bytes());
    channel.set_via_host(link.routed && link.viaHost);
    channel.set_chunk_bytes(link.chunkBytes);
    if (!link.emulated)
      continue;
    channel.set_emulated_latency_s(link.latency);
    channel.set_emulated_bytes_per_s(link.bandwidth);
  }
}

/// The rows of one stage, from the schedule of all. Those of a rank with
/// several stages have their positions in it.
static void addSchedule(const simulator::Schedule &table, StageProgram &out) {
  simulator::Pipeline ranks;
  for (const Stage &stage : out.stages()) {
    simulator::PipelineStage &added = ranks.stages.emplace_back();
    added.replicas = stage.replicas();
    added.firstRank = stage.has_first_rank() ? stage.first_rank() : -1;
  }
  std::vector<int> first = simulator::firstRanks(ranks);
  bool interleaved = simulator::isInterleaved(ranks);
  std::map<int, int> positions; // of the next row, by rank
  Schedule *schedule = out.mutable_schedule();
  schedule->set_per_microbatch(table.perMicrobatch);
  schedule->set_microbatches(table.microbatches);
  out.set_training(table.training);
  for (const simulator::Row &from : table.rows) {
    int position = positions[first[from.stage] + from.replica]++;
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
    if (interleaved)
      row->set_position(position);
  }
}

LogicalResult
buildStagePrograms(ModuleOp module, const ModelInfo &model,
                   std::vector<std::unique_ptr<StageProgram>> &programs) {
  FailureOr<std::vector<hh::StageParts>> stages = hh::readStages(module);
  if (failed(stages))
    return failure();
  std::optional<simulator::Schedule> schedule = hh::readSchedule(module);
  cluster::Cluster cluster = hh::readCluster(module);
  hh::GradientStages gradients = hh::gradientStages(*stages);
  OriginTable origins(module);
  for (const hh::StageParts &parts : *stages) {
    auto program = std::make_unique<StageProgram>();
    program->set_model(model.name);
    program->set_microbatch_axis_size(model.microbatchAxisSize);
    if (failed(ProgramBuilder(parts, origins, gradients, *program).build()))
      return failure();
    if (!schedule)
      return module.emitError(
          "module must hold an hh.schedule: run hh-schedule");
    addStages(cluster, *stages, *program);
    addLinks(cluster, *stages, *program);
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
