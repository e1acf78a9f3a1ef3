// A step of training is played through with names instead of values: each port
// must find what it needs, and nothing may be left over.
#include "TrainingTable.h"
#include "hethub/runtime/DTypes.h"
#include "hethub/runtime/Error.h"

#include <algorithm>
#include <map>
#include <set>

using namespace hethub::runtime;

namespace {
constexpr Action functions[] = {Action::Forward, Action::Backward,
                                Action::Weight};

std::string where(const StageSpec &spec) {
  return " of stage " + std::to_string(spec.stage);
}

/// Exactly one place for each port, and only places that the function may use.
void checkPort(const StageSpec &spec, const FunctionPorts &function,
               const PortSpec &port, bool isInput) {
  std::string label = std::string(isInput ? "input '" : "output '") +
                      port.name + "' of " + function.name;
  int places = (port.channel >= 0) + (port.index >= 0) + (port.saved >= 0) +
               !port.gradientOf.empty() + !port.updateOf.empty();
  if (places != 1)
    fail(label, where(spec),
         " must have exactly one of channel, index, slot, gradient and "
         "update, got: ",
         places);
  bool isForward = function.name == std::string_view("forward");
  if (isInput && (!port.gradientOf.empty() || !port.updateOf.empty()))
    fail(label, where(spec), " must not be a gradient or an update");
  if (isForward ? (isInput && port.saved >= 0) || !port.gradientOf.empty()
                : !port.updateOf.empty() || (!isInput && port.index >= 0))
    fail(label, where(spec), " is of a kind that ", function.name,
         " does not have");
  if (port.isLoss && (!isForward || isInput || port.index < 0 ||
                      !at::isFloatingType(port.dtype) || !port.shape.empty()))
    fail("the loss must be a scalar float output of forward, got: ", label,
         ", ", typeName(port.dtype, port.shape));
  checkChannel(spec, port, isInput);
}

/// Each slot is written by one function and read by later ones, as one type.
void checkSlots(const StageSpec &spec) {
  std::map<int, const PortSpec *> written;
  std::set<int> read;
  for (Action action : functions) {
    FunctionPorts function = portsOf(spec, action);
    for (const PortSpec &port : *function.inputs) {
      if (port.saved < 0)
        continue;
      auto found = written.find(port.saved);
      if (found == written.end())
        fail(function.name, where(spec), " reads slot ", port.saved, " ('",
             port.name, "'), which no function before it writes");
      if (found->second->dtype != port.dtype ||
          found->second->shape != port.shape)
        fail("slot ", port.saved, " ('", port.name, "')", where(spec),
             " must have one type, got: ",
             typeName(found->second->dtype, found->second->shape), " and ",
             typeName(port.dtype, port.shape));
      read.insert(port.saved);
    }
    for (const PortSpec &port : *function.outputs)
      if (port.saved >= 0 && !written.emplace(port.saved, &port).second)
        fail("slot ", port.saved, " ('", port.name, "')", where(spec),
             " is written twice");
  }
  for (const auto &[slot, port] : written)
    if (!read.count(slot))
      fail("slot ", slot, " ('", port->name, "')", where(spec),
           " is written and never read");
}

void checkParameters(const StageSpec &spec) {
  std::map<std::string, const TrainedSpec *> trained;
  for (const TrainedSpec &parameter : spec.trained) {
    if (!trained.emplace(parameter.name, &parameter).second)
      fail("parameter '", parameter.name, "'", where(spec),
           " is trained twice");
    if (!at::isFloatingType(parameter.dtype))
      fail("a trained parameter must be of a float type, got: '",
           parameter.name, "' of type ",
           typeName(parameter.dtype, parameter.shape));
    byteCount(parameter.dtype, parameter.shape); // no negative sizes
    const std::vector<int> &stages = parameter.stages;
    bool ascends = std::adjacent_find(stages.begin(), stages.end(),
                                      std::greater_equal<>()) == stages.end();
    if (!ascends || stages.empty() || stages.front() < 0 ||
        stages.back() >= static_cast<int>(spec.stages.size()) ||
        !std::count(stages.begin(), stages.end(), spec.stage))
      fail("the stages of parameter '", parameter.name,
           "' must ascend, exist and have stage ", spec.stage, " among them");
  }
  std::set<std::string> withGradient, updated;
  for (Action action : functions)
    for (const PortSpec &port : *portsOf(spec, action).outputs) {
      if (!port.gradientOf.empty()) {
        auto found = trained.find(port.gradientOf);
        if (found == trained.end())
          fail("output '", port.name, "'", where(spec), " is the gradient of '",
               port.gradientOf, "', which is not trained");
        const TrainedSpec &parameter = *found->second;
        if (port.dtype != parameter.dtype || port.shape != parameter.shape)
          fail("the gradient of parameter '", parameter.name, "'", where(spec),
               " must be ", typeName(parameter.dtype, parameter.shape),
               ", got: ", typeName(port.dtype, port.shape));
        if (!withGradient.insert(port.gradientOf).second)
          fail("parameter '", port.gradientOf, "'", where(spec),
               " has two gradients");
      }
      if (!port.updateOf.empty() && (trained.count(port.updateOf) ||
                                     !updated.insert(port.updateOf).second))
        fail("parameter '", port.updateOf, "'", where(spec),
             " must be changed by one gradient or one update");
    }
  for (const auto &[name, parameter] : trained)
    if (!withGradient.count(name))
      fail("parameter '", name, "'", where(spec),
           " is trained, and no function gives its gradient");
}

/// The rows of one replica, played through.
class Play {
public:
  Play(const StageSpec &spec, int replica) : spec_(spec), replica_(replica) {}

  void row(const RowSpec &row) {
    if (stepped_)
      fail(label(row), " stands after the optimizer step");
    switch (row.action) {
    case Action::Receive:
      if (!add(received_, row.channel, row.microbatch))
        fail(label(row), " on channel ", row.channel, " comes twice");
      return;
    case Action::Send:
      if (!toSend_.erase({row.channel, row.microbatch}))
        fail(label(row), " on channel ", row.channel,
             " has nothing to send yet, or not any more");
      return;
    case Action::AllReduce:
      if (summed_)
        fail(label(row), " comes twice");
      summed_ = true;
      return;
    case Action::OptimizerStep:
      stepped_ = true;
      return;
    default:
      compute(row);
    }
  }

  void finish() {
    std::string of =
        " in replica " + std::to_string(replica_) + where(spec_) + "'s table";
    if (!stepped_)
      fail("no optimizer step", of);
    int replicas = spec_.stages[static_cast<size_t>(spec_.stage)].replicas;
    for (int j = replica_; j < spec_.microbatches; j += replicas)
      for (Action action : functions)
        if (hasFunction(spec_, action) && !done_.count({action, j}))
          fail("microbatch ", j, " has no ", nameOf(action), of);
    if (!toSend_.empty())
      fail("microbatch ", toSend_.begin()->second, " is never sent on channel ",
           toSend_.begin()->first, of);
    if (!received_.empty())
      fail("microbatch ", received_.begin()->second, " on channel ",
           received_.begin()->first, " is received and never used", of);
    for (const TrainedSpec &parameter : spec_.trained)
      if (!summed_ && (replicas > 1 || parameter.stages.size() > 1))
        fail("parameter '", parameter.name,
             "' is on several ranks and there is no all-reduce", of);
  }

private:
  using Message = std::pair<int, int>; ///< channel, microbatch
  static bool add(std::set<Message> &set, int channel, int microbatch) {
    return set.insert({channel, microbatch}).second;
  }
  std::string label(const RowSpec &row) const {
    return std::string(nameOf(row.action)) + " of microbatch " +
           std::to_string(row.microbatch) + where(spec_);
  }

  void compute(const RowSpec &row) {
    if (summed_)
      fail(label(row), " stands after the all-reduce");
    if (!done_.insert({row.action, row.microbatch}).second)
      fail(label(row), " comes twice");
    for (Action before : functions) {
      if (before == row.action)
        break;
      if (hasFunction(spec_, before) && !done_.count({before, row.microbatch}))
        fail(label(row), " stands before its ", nameOf(before));
    }
    FunctionPorts function = portsOf(spec_, row.action);
    for (const PortSpec &port : *function.inputs)
      if (port.channel >= 0 && !received_.erase({port.channel, row.microbatch}))
        fail(label(row), " stands before it has received '", port.name, "'");
    for (const PortSpec &port : *function.outputs)
      if (port.channel >= 0)
        add(toSend_, port.channel, row.microbatch);
  }

  const StageSpec &spec_;
  int replica_;
  std::set<Message> received_, toSend_;
  std::set<std::pair<Action, int>> done_;
  bool summed_ = false, stepped_ = false;
};

void checkRow(const StageSpec &spec, const RowSpec &row) {
  int replicas = spec.stages[static_cast<size_t>(spec.stage)].replicas;
  if (row.microbatch < 0 || row.microbatch >= spec.microbatches ||
      row.replica < 0 || row.replica >= replicas)
    fail("schedule row", where(spec), " must be of one of ", spec.microbatches,
         " microbatches and ", replicas, " replicas, got: ", row.microbatch,
         " and ", row.replica);
  if (row.action == Action::AllReduce || row.action == Action::OptimizerStep)
    return;
  if (row.microbatch % replicas != row.replica)
    fail("microbatch ", row.microbatch, where(spec), " must be on replica ",
         row.microbatch % replicas, ", got: ", row.replica);
  if (row.action != Action::Receive && row.action != Action::Send)
    return;
  const ChannelSpec *channel = findChannel(spec, row.channel);
  if (!channel)
    fail("schedule row names an unknown channel: ", row.channel);
  bool receives = row.action == Action::Receive;
  if ((receives ? channel->toStage : channel->fromStage) != spec.stage)
    fail("schedule row", where(spec), " can not ", nameOf(row.action),
         " on channel ", row.channel);
  int peer = receives ? channel->fromStage : channel->toStage;
  int peers = spec.stages[static_cast<size_t>(peer)].replicas;
  if (row.peerReplica != row.microbatch % peers)
    fail("microbatch ", row.microbatch, " on channel ", row.channel,
         " must have replica ", row.microbatch % peers, " of stage ", peer,
         " at its other end, got: ", row.peerReplica);
}
} // namespace

FunctionPorts hethub::runtime::portsOf(const StageSpec &spec, Action action) {
  switch (action) {
  case Action::Forward:
    return {"forward", &spec.inputs, &spec.outputs};
  case Action::Backward:
    return {"backward", &spec.backward.inputs, &spec.backward.outputs};
  case Action::Weight:
    return {"weight", &spec.weight.inputs, &spec.weight.outputs};
  default:
    return {};
  }
}

bool hethub::runtime::hasFunction(const StageSpec &spec, Action action) {
  FunctionPorts ports = portsOf(spec, action);
  return action == Action::Forward ||
         (ports && !(ports.inputs->empty() && ports.outputs->empty()));
}

void hethub::runtime::checkTraining(const StageSpec &spec) {
  if (spec.perMicrobatch)
    fail("the schedule of a training program must be a whole step");
  int losses = 0;
  for (Action action : functions) {
    FunctionPorts function = portsOf(spec, action);
    // A channel carries one value a microbatch.
    std::set<int> channels;
    for (bool isInput : {true, false})
      for (const PortSpec &port :
           isInput ? *function.inputs : *function.outputs) {
        checkPort(spec, function, port, isInput);
        if (port.channel >= 0 && !channels.insert(port.channel).second)
          fail("port '", port.name, "'", where(spec), " uses channel ",
               port.channel, ", which another port uses");
        losses += port.isLoss;
      }
  }
  if (losses > 1)
    fail("a model must have one loss, got: ", losses, where(spec));
  checkSlots(spec);
  checkParameters(spec);
  std::vector<Play> replicas;
  for (int i = 0; i < spec.stages[static_cast<size_t>(spec.stage)].replicas;
       ++i)
    replicas.emplace_back(spec, i);
  for (const RowSpec &row : spec.rows) {
    checkRow(spec, row);
    replicas[static_cast<size_t>(row.replica)].row(row);
  }
  for (Play &replica : replicas)
    replica.finish();
}
