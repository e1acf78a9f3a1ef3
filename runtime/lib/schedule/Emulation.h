// `emulate:` of cluster.yaml: one machine stands in for slower devices and
// slower links.
#pragma once

#include "hethub/runtime/Stage.h"
#include "hethub/runtime/Trace.h"

namespace hethub::runtime {

/// Of the steady clock, which all processes of one machine share.
int64_t nanosecondsNow();

/// Sleeps until t_send + latency + bytes / rate of an emulated channel.
void sleepUntilDelivery(const ChannelSpec &channel, int64_t sentAtNs,
                        int64_t bytes);

/// Seconds that a forward, backward or weight of `device` lasts when it is
/// emulated; `measuredS` stands in for a missing profile.
double emulatedS(const DeviceSpec &device, Action action, double measuredS);

/// Sleeps until `targetS` after `begin`; false when that moment has passed: the
/// compute overran its emulated time.
bool sleepOut(Clock::time_point begin, double targetS);

/// Sleeps until what began at `begin` and has no profile has lasted as long as
/// on the emulated device.
void sleepInProportion(const DeviceSpec &device, Clock::time_point begin);

/// Lets the calling thread's sleeps end within microseconds of their time; the
/// kernel's default slack of 50 would add up.
void sleepPrecisely();

/// Sum of 1 / slowdown over all ranks: the cores that they keep busy. Where it
/// exceeds the machine's cores, emulated figures mean nothing.
double busyShares(const StageSpec &spec);

bool isEmulated(const StageSpec &spec);

} // namespace hethub::runtime
