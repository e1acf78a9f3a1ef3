#include "TrainingPrograms.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <random>
#include <set>

namespace hethub::runtime::test {

std::string Net::weight(int block) const {
  return "block" + std::to_string(tied && block + 1 == blocks ? 0 : block) +
         ".weight";
}
std::string Net::bias(int block) const {
  return "block" + std::to_string(block) + ".bias";
}

std::map<std::string, at::Tensor> Net::parameters(uint64_t seed) const {
  at::manual_seed(seed);
  std::map<std::string, at::Tensor> result;
  for (int i = 0; i < blocks; ++i) {
    result[weight(i)] = at::randn({width, width}) * 0.5;
    result[bias(i)] = at::randn({width}) * 0.1;
  }
  return result;
}

at::Tensor Net::loss(const std::map<std::string, at::Tensor> &parameters,
                     const at::Tensor &x, const at::Tensor &labels) const {
  at::Tensor h = x, first;
  for (int i = 0; i < blocks; ++i) {
    h = at::tanh(
        at::addmm(parameters.at(bias(i)), h, parameters.at(weight(i))));
    if (i == 0)
      first = h;
  }
  return at::mean(at::square(h + first - labels));
}

std::string NetPlan::label() const {
  std::string text = "stages";
  for (size_t i = 0; i < blocks.size(); ++i)
    text += " " + std::to_string(blocks[i]) + "x" + std::to_string(replicas[i]);
  return text + ", table " + std::to_string(static_cast<int>(table));
}

void addTrainingRows(StageProgram &program, const NetPlan &plan,
                     const Edges &edges, int extra) {
  program.mutable_schedule()->set_per_microbatch(false);
  program.mutable_schedule()->set_microbatches(plan.microbatches);
  int stage = program.stage();
  // k forwards ahead on each of r replicas, with k r > (k' - 1) r' for all
  // later stages: no table waits for ever (lib/Simulator/TrainingSchedule.cpp).
  int later = 0, ahead = 1;
  for (int i = static_cast<int>(plan.blocks.size()) - 1; i >= stage; --i) {
    int replicas = plan.replicas[static_cast<size_t>(i)];
    ahead = later / replicas + 1 + extra;
    if (plan.table == Table::GPipe)
      ahead = plan.microbatches;
    if (i == 0)
      ahead = std::max(ahead, plan.firstAhead);
    later = std::max(later, (ahead - 1) * replicas);
  }
  int replicas = plan.replicas[static_cast<size_t>(stage)];
  for (int replica = 0; replica < replicas; ++replica) {
    auto row = [&](hethub::Action action, int microbatch, int channel = -1) {
      ScheduleRow &added = *program.mutable_schedule()->add_rows();
      added.set_stage(stage);
      added.set_replica(replica);
      added.set_action(action);
      added.set_microbatch(microbatch);
      added.set_channel(channel);
      for (const Channel &known : program.channels())
        if (known.id() == channel) {
          int peer = known.from_stage() == stage ? known.to_stage()
                                                 : known.from_stage();
          added.set_peer_stage(peer);
          added.set_peer_replica(microbatch %
                                 plan.replicas[static_cast<size_t>(peer)]);
        }
    };
    auto compute = [&](hethub::Action action, int microbatch,
                       const std::vector<int> &in,
                       const std::vector<int> &out) {
      for (int channel : in)
        row(RECEIVE, microbatch, channel);
      row(action, microbatch);
      for (int channel : out)
        row(SEND, microbatch, channel);
    };
    int offset = (ahead - 1) * replicas;
    for (int next = replica; next < plan.microbatches + offset;
         next += replicas) {
      if (next < plan.microbatches)
        compute(FORWARD, next, edges.forwardIn, edges.forwardOut);
      int back = next - offset;
      if (back >= 0 && back < plan.microbatches)
        compute(BACKWARD, back, edges.backwardIn, edges.backwardOut);
      // Weights a round later than their backward, where it can not hold up
      // anybody.
      if (plan.table == Table::ZeroBubble && back - replicas >= 0)
        row(WEIGHT, back - replicas);
    }
    if (plan.table == Table::ZeroBubble && replica < plan.microbatches) {
      int last = replica;
      while (last + replicas < plan.microbatches)
        last += replicas;
      row(WEIGHT, last);
    }
    row(ALL_REDUCE, 0);
    row(OPTIMIZER_STEP, 0);
  }
}

namespace {
/// Builds one stage: values, slots and ports by what they are.
class StageWriter {
public:
  StageWriter(const Net &net, const NetPlan &plan, int stage)
      : net_(net), plan_(plan), stage_(stage),
        stages_(static_cast<int>(plan.blocks.size())) {
    for (int i = 0; i < stage; ++i)
      first_ += plan.blocks[static_cast<size_t>(i)];
    end_ = first_ + plan.blocks[static_cast<size_t>(stage)];
    program_.set_version(1);
    program_.set_model("net");
    program_.set_plan_hash(plan.label());
    program_.set_stage(stage);
    program_.set_training(true);
    program_.set_microbatch_axis_size(net.batch);
    for (int i = 0; i < stages_; ++i) {
      Stage &described = *program_.add_stages();
      described.set_device_type("type" + std::to_string(i));
      described.set_device_kind("cpu");
      described.set_replicas(plan.replicas[static_cast<size_t>(i)]);
    }
  }

  StageProgram write() {
    for (const char *name : {"forward", "backward", "weight"}) {
      if (name == std::string("weight") && plan_.table != Table::ZeroBubble)
        break;
      Function &function = *program_.add_functions();
      function.set_name(name);
    }
    parameters();
    forward();
    backward();
    addTrainingRows(program_, plan_, edges_);
    return program_;
  }

private:
  TensorType type() const {
    return tensorType(FLOAT32, {net_.batch, net_.width});
  }
  Function &function(int index) { return *program_.mutable_functions(index); }
  int call(int of, const std::string &op,
           const std::vector<Argument> &arguments) {
    addCall(function(of), op, arguments, {next_});
    return next_++;
  }
  bool isLast() const { return stage_ + 1 == stages_; }
  /// Whether h_1 goes to the last stage through a channel.
  bool skips() const { return stages_ > 1; }

  int channel(int id, const std::string &name, int from, int to) {
    for (const Channel &known : program_.channels())
      if (known.id() == id)
        return id;
    Channel &added = *program_.add_channels();
    added.set_id(id);
    added.set_name(name);
    added.set_from_stage(from);
    added.set_to_stage(to);
    *added.mutable_type() = type();
    return id;
  }
  int valueChannel(int from) {
    return channel(from, "h after stage " + std::to_string(from), from,
                   from + 1);
  }
  int gradientChannel(int to) {
    return channel(stages_ + 1 + to, "gradient to stage " + std::to_string(to),
                   to + 1, to);
  }
  int skipChannel() { return channel(stages_, "h1", 0, stages_ - 1); }
  int skipGradientChannel() {
    return channel(2 * stages_ + 1, "gradient of h1", stages_ - 1, 0);
  }

  int input(int of, int channel, int index, const std::string &name) {
    addPort(*function(of).mutable_inputs(), next_, name, type(), channel,
            index);
    return next_++;
  }
  Port &output(int of, int value, const std::string &name, const TensorType &as,
               int channel = -1) {
    addPort(*function(of).mutable_outputs(), value, name, as, channel, -1);
    return *function(of).mutable_outputs(function(of).outputs_size() - 1);
  }
  /// The value of an earlier function, through a slot.
  int kept(int writer, int value, int reader) {
    auto [slot, isNew] = slots_.emplace(value, static_cast<int>(slots_.size()));
    if (isNew)
      output(writer, value, "v" + std::to_string(value), type())
          .set_saved(slot->second);
    auto [read, isFirst] = reads_.emplace(std::pair(reader, value), next_);
    if (isFirst) {
      input(reader, -1, -1, "v" + std::to_string(value));
      Function &of = function(reader);
      of.mutable_inputs(of.inputs_size() - 1)->set_saved(slot->second);
    }
    return read->second;
  }

  void parameter(const std::string &name, const std::vector<int64_t> &shape,
                 std::vector<int> stages) {
    if (parameters_.count(name))
      return;
    Parameter &added = *program_.add_parameters();
    added.set_name(name);
    added.set_value(next_);
    *added.mutable_type() = tensorType(FLOAT32, shape);
    for (int stage : stages)
      added.add_gradient_stages(stage);
    parameters_[name] = next_++;
  }
  void parameters() {
    for (int i = first_; i < end_; ++i) {
      bool shared =
          net_.tied && stages_ > 1 && net_.weight(i) == net_.weight(0);
      parameter(net_.weight(i), {net_.width, net_.width},
                shared ? std::vector<int>{0, stages_ - 1}
                       : std::vector<int>{stage_});
      parameter(net_.bias(i), {net_.width}, {stage_});
    }
  }

  void forward() {
    int h = stage_ == 0 ? input(0, -1, 0, "x")
                        : input(0, valueChannel(stage_ - 1), -1, "h");
    if (stage_ > 0)
      edges_.forwardIn.push_back(stage_ - 1);
    values_[first_] = h;
    for (int i = first_; i < end_; ++i) {
      h = call(0, "aten::addmm",
               {value(parameters_[net_.bias(i)]), value(h),
                value(parameters_[net_.weight(i)]), integer(1), integer(1)});
      h = call(0, "aten::tanh", {value(h)});
      values_[i + 1] = h;
    }
    if (!isLast()) {
      output(0, h, "h", type(), valueChannel(stage_));
      edges_.forwardOut.push_back(stage_);
    }
    if (stage_ == 0 && skips()) {
      output(0, values_[1], "h1", type(), skipChannel());
      edges_.forwardOut.push_back(stages_);
    }
    if (!isLast())
      return;
    int first = values_[1];
    if (skips()) {
      first = input(0, skipChannel(), -1, "h1");
      edges_.forwardIn.push_back(stages_);
    }
    int labels = input(0, -1, 1, "labels");
    int y = call(0, "aten::add.Tensor", {value(h), value(first), integer(1)});
    difference_ =
        call(0, "aten::sub.Tensor", {value(y), value(labels), integer(1)});
    int square =
        call(0, "aten::mul.Tensor", {value(difference_), value(difference_)});
    int loss = call(0, "aten::mean", {value(square), none()});
    Port &port = output(0, loss, "loss", tensorType(FLOAT32, {}));
    port.set_index(0);
    port.set_loss(true);
  }

  /// Gradients of one block's parameters, in backward or in weight.
  void weightGradients(int block, int of, int gradient) {
    int input = kept(0, values_[block], of);
    int transposed = call(of, "aten::t", {value(input)});
    add(net_.weight(block), of,
        call(of, "aten::mm", {value(transposed), value(gradient)}));
    Argument axes, keep;
    axes.mutable_ints()->add_value(0);
    keep.set_boolean(false);
    add(net_.bias(block), of,
        call(of, "aten::sum.dim_IntList",
             {value(gradient), axes, keep, none()}));
  }
  void add(const std::string &name, int of, int gradient) {
    auto [found, isNew] = gradients_.emplace(name, gradient);
    if (!isNew)
      found->second = call(of, "aten::add.Tensor",
                           {value(found->second), value(gradient), integer(1)});
  }

  void backward() {
    bool split = plan_.table == Table::ZeroBubble;
    int gradient, skipped = -1;
    if (isLast()) {
      double scale = 2.0 / static_cast<double>(net_.batch * net_.width *
                                               plan_.microbatches);
      gradient = call(1, "aten::mul.Scalar",
                      {value(kept(0, difference_, 1)), floating(scale)});
      skipped = gradient;
      if (skips()) {
        output(1, gradient, "gradient of h1", type(), skipGradientChannel());
        edges_.backwardOut.push_back(2 * stages_ + 1);
      }
    } else {
      gradient = input(1, gradientChannel(stage_), -1, "gradient");
      edges_.backwardIn.push_back(stages_ + 1 + stage_);
      if (stage_ == 0) {
        skipped = input(1, skipGradientChannel(), -1, "gradient of h1");
        edges_.backwardIn.push_back(2 * stages_ + 1);
      }
    }
    for (int i = end_ - 1; i >= first_; --i) {
      if (i == 0)
        gradient = call(1, "aten::add.Tensor",
                        {value(gradient), value(skipped), integer(1)});
      gradient = call(1, "aten::tanh_backward",
                      {value(gradient), value(kept(0, values_[i + 1], 1))});
      if (split)
        weightGradients(i, 2, kept(1, gradient, 2));
      else
        weightGradients(i, 1, gradient);
      if (i > 0) {
        int transposed =
            call(1, "aten::t", {value(parameters_[net_.weight(i)])});
        gradient = call(1, "aten::mm", {value(gradient), value(transposed)});
      }
    }
    if (stage_ > 0) {
      output(1, gradient, "gradient", type(), gradientChannel(stage_ - 1));
      edges_.backwardOut.push_back(stages_ + stage_);
    }
    for (const auto &[name, value] : gradients_) {
      bool isBias = name.ends_with("bias");
      output(split ? 2 : 1, value, "gradient of " + name,
             isBias ? tensorType(FLOAT32, {net_.width})
                    : tensorType(FLOAT32, {net_.width, net_.width}))
          .set_gradient_of(name);
    }
  }

  const Net &net_;
  const NetPlan &plan_;
  int stage_, stages_, first_ = 0, end_ = 0, next_ = 0, difference_ = -1;
  StageProgram program_;
  Edges edges_;
  std::map<std::string, int> parameters_, gradients_;
  std::map<int, int> values_;                ///< h_i
  std::map<int, int> slots_;                 ///< of a value
  std::map<std::pair<int, int>, int> reads_; ///< function and value
};
} // namespace

std::vector<StageProgram> trainingPrograms(const Net &net,
                                           const NetPlan &plan) {
  std::vector<StageProgram> programs;
  for (int stage = 0; stage < static_cast<int>(plan.blocks.size()); ++stage)
    programs.push_back(StageWriter(net, plan, stage).write());
  if (!plan.firstRanks.empty())
    interleave(programs, plan.firstRanks, 1);
  return programs;
}

void interleave(std::vector<StageProgram> &programs,
                const std::vector<int> &firstRanks, uint64_t seed) {
  using Rows = std::vector<ScheduleRow *>;
  std::map<int, std::vector<Rows>> left; // of each rank, of its stages
  for (StageProgram &program : programs) {
    for (size_t i = 0; i < firstRanks.size(); ++i) {
      Stage &stage = *program.mutable_stages(static_cast<int>(i));
      stage.set_first_rank(firstRanks[i]);
      stage.set_device_type("type");
    }
    std::map<int, Rows> ofReplica;
    for (ScheduleRow &row : *program.mutable_schedule()->mutable_rows())
      ofReplica[row.replica()].push_back(&row);
    for (auto &[replica, rows] : ofReplica)
      left[firstRanks[static_cast<size_t>(program.stage())] + replica]
          .push_back(std::move(rows));
  }
  std::mt19937 engine(static_cast<unsigned>(seed));
  std::set<std::pair<int, int>> sent; // channel, microbatch
  std::map<int, int> positions;
  auto take = [&](int rank, Rows &rows) {
    rows.front()->set_position(positions[rank]++);
    if (rows.front()->action() == SEND)
      sent.insert({rows.front()->channel(), rows.front()->microbatch()});
    rows.erase(rows.begin());
  };
  for (bool moved = true; moved;) {
    moved = false;
    for (auto &[rank, stages] : left) {
      std::vector<Rows *> ready;
      for (Rows &rows : stages)
        if (!rows.empty() && rows.front()->action() != ALL_REDUCE &&
            (rows.front()->action() != RECEIVE ||
             sent.count({rows.front()->channel(), rows.front()->microbatch()})))
          ready.push_back(&rows);
      if (ready.empty())
        continue;
      take(rank, *ready[engine() % ready.size()]);
      moved = true;
    }
  }
  for (auto &[rank, stages] : left)
    for (hethub::Action action : {ALL_REDUCE, OPTIMIZER_STEP})
      for (Rows &rows : stages)
        if (!rows.empty() && rows.front()->action() == action)
          take(rank, rows);
}

} // namespace hethub::runtime::test
