// Builders of stage programs.
#include "Programs.h"
#include "program/ProgramFile.h"

#include <cstdlib>
#include <stdexcept>

namespace hethub::runtime::test {

TemporaryFolder::TemporaryFolder() {
  std::string name =
      (std::filesystem::temp_directory_path() / "hethub-test-XXXXXX").string();
  if (!mkdtemp(name.data()))
    throw std::runtime_error("cannot make a temporary folder");
  path_ = name;
}
TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

Argument value(int32_t number) {
  Argument argument;
  argument.set_value(number);
  return argument;
}
Argument none() {
  Argument argument;
  argument.set_none(true);
  return argument;
}
Argument integer(int64_t number) {
  Argument argument;
  argument.set_int_(number);
  return argument;
}
Argument floating(double number) {
  Argument argument;
  argument.set_float_(number);
  return argument;
}

void addCall(Function &function, const std::string &op,
             const std::vector<Argument> &arguments,
             const std::vector<int32_t> &results, int origin) {
  Call &call = *function.add_body()->mutable_call();
  call.set_op(op);
  for (const Argument &argument : arguments)
    *call.add_arguments() = argument;
  for (int32_t result : results)
    call.add_results(result);
  call.set_origin(origin);
}

void addPort(google::protobuf::RepeatedPtrField<Port> &ports, int32_t number,
             const std::string &name, const TensorType &type, int channel,
             int index) {
  Port &port = *ports.Add();
  port.set_value(number);
  port.set_name(name);
  *port.mutable_type() = type;
  port.set_channel(channel);
  port.set_index(index);
}

namespace {
void addRow(StageProgram &program, hethub::Action action, int channel) {
  ScheduleRow &row = *program.mutable_schedule()->add_rows();
  row.set_stage(program.stage());
  row.set_action(action);
  row.set_channel(channel);
}

void addChannel(StageProgram &program, int id, const std::string &name,
                int from, int to, const TensorType &type) {
  Channel &channel = *program.add_channels();
  channel.set_id(id);
  channel.set_name(name);
  channel.set_from_stage(from);
  channel.set_to_stage(to);
  *channel.mutable_type() = type;
}
} // namespace

std::vector<StageProgram> pipeline(const std::vector<int> &replicas) {
  int stages = static_cast<int>(replicas.size()), last = stages - 1,
      skip = stages;
  TensorType type = tensorType(FLOAT32, {2, 3});
  std::vector<StageProgram> programs;
  for (int i = 0; i < stages; ++i) {
    StageProgram program;
    program.set_version(1);
    program.set_model("pipeline");
    program.set_plan_hash("abc");
    program.set_stage(i);
    program.set_microbatch_axis_size(2);
    program.mutable_schedule()->set_per_microbatch(true);
    for (int replica : replicas) {
      Stage &stage = *program.add_stages();
      stage.set_device_type("type" + std::to_string(program.stages_size() - 1));
      stage.set_device_kind("cpu");
      stage.set_replicas(replica);
    }
    Origin &origin = *program.add_origins();
    origin.set_name("/block" + std::to_string(i) + "/Mul");
    origin.set_op("onnx.Mul");
    origin.set_signature("onnx.Mul(2x3xf32)");

    // Values: 0 the input, 1 doubled, 2 the result, 3 the skip connection, 4
    // the sum.
    Function &forward = *program.add_functions();
    forward.set_name("forward");
    bool first = i == 0, final = i == last;
    // Channel i leads from stage i to stage i + 1.
    addPort(*forward.mutable_inputs(), 0, first ? "x" : "h" + std::to_string(i),
            type, first ? -1 : i - 1, first ? 0 : -1);
    if (!first) {
      addChannel(program, i - 1, "h" + std::to_string(i), i - 1, i, type);
      addRow(program, RECEIVE, i - 1);
    }
    bool skips = stages > 1;
    if (final && skips) {
      addPort(*forward.mutable_inputs(), 3, "x", type, skip, -1);
      addChannel(program, skip, "x", 0, last, type);
      addRow(program, RECEIVE, skip);
    }
    addCall(forward, "aten::mul.Scalar", {value(0), integer(2)}, {1}, 0);
    addCall(forward, "aten::add.Scalar",
            {value(1), floating(i + 1), integer(1)}, {2}, 0);
    int result = 2;
    if (final && skips) {
      addCall(forward, "aten::add.Tensor", {value(2), value(3), integer(1)},
              {4}, 0);
      result = 4;
    }
    addRow(program, FORWARD, -1);
    if (!final) {
      addPort(*forward.mutable_outputs(), result, "h" + std::to_string(i + 1),
              type, i, -1);
      addChannel(program, i, "h" + std::to_string(i + 1), i, i + 1, type);
      addRow(program, SEND, i);
    } else {
      addPort(*forward.mutable_outputs(), result, "y", type, -1, 0);
    }
    if (first && skips) {
      addPort(*forward.mutable_outputs(), 0, "x", type, skip, -1);
      addChannel(program, skip, "x", 0, last, type);
      addRow(program, SEND, skip);
    }
    programs.push_back(std::move(program));
  }
  return programs;
}

void writePrograms(const std::vector<StageProgram> &programs,
                   const std::string &folder) {
  for (const StageProgram &program : programs) {
    std::filesystem::path stage = std::filesystem::path(folder) /
                                  ("stage_" + std::to_string(program.stage()));
    std::filesystem::create_directories(stage);
    writeProgramFile((stage / "program.pb").string(), program);
  }
}

} // namespace hethub::runtime::test
