// Settings under which a rank computes.
#include "ComputeSettings.h"

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
