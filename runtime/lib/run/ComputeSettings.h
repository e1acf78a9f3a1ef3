// Settings under which a rank computes.
#pragma once

namespace hethub::runtime {

/// Sets LibTorch's number of threads for this thread, and tells the C allocator
/// to keep freed memory: by default it hands large activations back to the
/// kernel, and faulting them in again costs up to a tenth of a step.
void applyComputeSettings(int threads);

/// Tells LibTorch, in the whole process, to add up in an order that does not
/// depend on threads: gradients of gathers come in any order otherwise, and
/// training that is resumed would not give the same bits.
void computeDeterministically();

} // namespace hethub::runtime
