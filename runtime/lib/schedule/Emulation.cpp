// The real kernels run, then the rank sleeps to the moment at which the slower
// device would have finished: the other stages keep their cores, and a busy
// neighbour hides in the slack.
#include "Emulation.h"
#include "hethub/runtime/Executor.h"

#include <thread>

#ifdef __linux__
#include <sys/prctl.h>
#endif

using namespace hethub::runtime;

int64_t hethub::runtime::nanosecondsNow() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             Clock::now().time_since_epoch())
      .count();
}

void hethub::runtime::sleepUntilDelivery(const ChannelSpec &channel,
                                         int64_t sentAtNs, int64_t bytes) {
  double delayS = channel.emulatedLatencyS;
  if (channel.emulatedBytesPerS > 0)
    delayS += static_cast<double>(bytes) / channel.emulatedBytesPerS;
  if (delayS > 0)
    std::this_thread::sleep_until(Clock::time_point(std::chrono::nanoseconds(
        sentAtNs + static_cast<int64_t>(delayS * 1e9))));
}

double hethub::runtime::emulatedS(const DeviceSpec &device, Action action,
                                  double measuredS) {
  double profiledS = action == Action::Backward ? device.profiledBackwardS
                     : action == Action::Weight ? device.profiledWeightS
                                                : device.profiledForwardS;
  return device.emulatedSlowdown * (profiledS > 0 ? profiledS : measuredS);
}

bool hethub::runtime::sleepOut(Clock::time_point begin, double targetS) {
  auto end = begin + std::chrono::duration_cast<Clock::duration>(
                         std::chrono::duration<double>(targetS));
  if (Clock::now() > end)
    return false;
  std::this_thread::sleep_until(end);
  return true;
}

void hethub::runtime::sleepInProportion(const DeviceSpec &device,
                                        Clock::time_point begin) {
  if (device.emulatedSlowdown > 0)
    sleepOut(begin,
             device.emulatedSlowdown * secondsBetween(begin, Clock::now()));
}

void hethub::runtime::sleepPrecisely() {
#ifdef __linux__
  prctl(PR_SET_TIMERSLACK, 1);
#endif
}

double hethub::runtime::busyShares(const StageSpec &spec) {
  double shares = 0;
  for (int rank = 0; rank < worldSize(spec); ++rank) {
    const DeviceSpec &device =
        spec.stages[static_cast<size_t>(placesOf(spec, rank)[0].stage)];
    shares += 1 / (device.emulatedSlowdown > 0 ? device.emulatedSlowdown : 1);
  }
  return shares;
}

bool hethub::runtime::isEmulated(const StageSpec &spec) {
  for (const DeviceSpec &device : spec.stages)
    if (device.emulatedSlowdown > 0)
      return true;
  for (const ChannelSpec &channel : spec.channels)
    if (channel.emulatedLatencyS > 0 || channel.emulatedBytesPerS > 0)
      return true;
  return false;
}
