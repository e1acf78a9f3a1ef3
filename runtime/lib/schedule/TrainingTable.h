// Checks of a training program's tables.
#pragma once

#include "hethub/runtime/Stage.h"

namespace hethub::runtime {

const ChannelSpec *findChannel(const StageSpec &spec, int id);

/// Throws Error where the port names a channel that there is none of, or one
/// that leads the other way.
void checkChannel(const StageSpec &spec, const PortSpec &port, bool isInput);

/// "receive", "forward", ...
const char *nameOf(Action action);

/// What a row runs: "forward", "backward" or "weight"; nothing for other rows.
struct FunctionPorts {
  const char *name = nullptr;
  const std::vector<PortSpec> *inputs = nullptr, *outputs = nullptr;
  explicit operator bool() const { return name; }
};
FunctionPorts portsOf(const StageSpec &spec, Action action);

/// Whether the stage has something to run there: a stage in front of all
/// trained parameters has no backward.
bool hasFunction(const StageSpec &spec, Action action);

/// Throws Error where ports, slots, trained parameters and rows of a training
/// program contradict each other: a slot that is read before it is written, a
/// gradient of no parameter, a microbatch without its backward, ... Channels,
/// stages and replicas must have been checked.
void checkTraining(const StageSpec &spec);

} // namespace hethub::runtime
