// A flag that the signal's handler sets.
#include "StopSignal.h"

#include <csignal>

namespace {
volatile std::sig_atomic_t requested = 0;

void request(int) { requested = 1; }
} // namespace

void hethub::runtime::catchStopSignal() {
  requested = 0;
  struct sigaction action{};
  action.sa_handler = request;
  // A second signal means it; calls that wait for messages go on after the
  // first.
  action.sa_flags = SA_RESETHAND | SA_RESTART;
  sigemptyset(&action.sa_mask);
  sigaction(SIGTERM, &action, nullptr);
}

bool hethub::runtime::stopIsRequested() { return requested != 0; }
