// Settings under which a rank computes.
#include "ComputeSettings.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>

#include <climits>
#include <malloc.h>

void hethub::runtime::applyComputeSettings(int threads) {
  at::set_num_threads(threads);
#ifdef __GLIBC__
  mallopt(M_MMAP_THRESHOLD, 32 << 20); // the most that glibc takes
  mallopt(M_TRIM_THRESHOLD, INT_MAX);
#endif
}

void hethub::runtime::computeDeterministically() {
  // Operators of a device that cannot do it warn and go on.
  at::globalContext().setDeterministicAlgorithms(true, /*warn_only=*/true);
  // By default that also fills all memory before it is used.
  at::globalContext().setDeterministicFillUninitializedMemory(false);
}
