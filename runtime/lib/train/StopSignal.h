// SIGTERM asks a training run to stop at the end of its step, with a
// checkpoint.
#pragma once

namespace hethub::runtime {

/// From now on SIGTERM does not end the process but is kept; a second one ends
/// it as ever.
void catchStopSignal();

/// Whether it has come.
bool stopIsRequested();

} // namespace hethub::runtime
