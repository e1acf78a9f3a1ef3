// Settings under which a rank computes.
#pragma once

namespace hethub::runtime {

/// Sets LibTorch's number of threads for this thread, and tells the C allocator
/// to keep freed memory: by default it hands large activations back to the
/// kernel, and faulting them in again costs up to a tenth of a step.
void applyComputeSettings(int threads);

} // namespace hethub::runtime
