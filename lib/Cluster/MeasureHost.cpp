// Short loops that measure this machine: a copy larger than the caches, and
// independent multiply-adds.
#include "hethub/Cluster/MeasureHost.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <memory>
#include <unistd.h>

namespace hethub::cluster {
namespace {

constexpr double measureSeconds = 0.05;

double now() {
  return std::chrono::duration<double>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

/// Runs `work`, which does `units` of something, until the time is over; units
/// per second of the fastest call, since all that disturbs a call makes it
/// slower.
template <typename Work>
double rate(double units, Work work) {
  double best = 0, start = now(), begin = start;
  do {
    work();
    double end = now();
    best = std::max(best, units / std::max(end - begin, 1e-9));
    begin = end;
  } while (begin - start < measureSeconds);
  return best;
}

double copyBandwidth() {
  constexpr size_t bytes = size_t(64) << 20;
  auto from = std::make_unique<char[]>(bytes);
  auto to = std::make_unique<char[]>(bytes);
  std::memset(from.get(), 1, bytes);
  std::memset(to.get(), 0, bytes); // maps the pages
  return rate(2.0 * bytes, [&] {
    std::memcpy(to.get(), from.get(), bytes);
    asm volatile("" : : "r"(to.get()) : "memory");
  });
}

constexpr int chains = 10, rounds = 20000;

// Ten independent chains hide the latency of a multiply-add. A macro, since the
// compiler lowers vectors to the instruction set of the function they are
// written in before it inlines that function elsewhere.
#define MULTIPLY_ADDS(lanes)                                                   \
  typedef float Vector __attribute__((vector_size(lanes * sizeof(float))));    \
  Vector accumulators[chains] = {}, factor = {}, term = {};                    \
  asm volatile("" : "+m"(factor), "+m"(term));                                 \
  for (int round = 0; round < rounds; ++round)                                 \
    _Pragma("GCC unroll 10") for (int chain = 0; chain < chains; ++chain)      \
        accumulators[chain] = accumulators[chain] * factor + term;             \
  for (Vector &accumulator : accumulators)                                     \
    asm volatile("" : : "m"(accumulator));

void multiplyAddsPlain() { MULTIPLY_ADDS(4) }
#if defined(__x86_64__)
__attribute__((target("avx2,fma"))) void multiplyAddsAVX2() { MULTIPLY_ADDS(8) }
__attribute__((target("avx512f"))) void multiplyAddsAVX512() {
  MULTIPLY_ADDS(16)
}
#endif

double float32Flops() {
  constexpr double perLane = 2.0 * chains * rounds;
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f"))
    return rate(16 * perLane, multiplyAddsAVX512);
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    return rate(8 * perLane, multiplyAddsAVX2);
#endif
  return rate(4 * perLane, multiplyAddsPlain);
}

} // namespace

int64_t hostMemoryBytes() {
  return int64_t(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGE_SIZE);
}

const HostFigures &hostFigures() {
  static const HostFigures figures{hostMemoryBytes(), copyBandwidth(),
                                   float32Flops()};
  return figures;
}

} // namespace hethub::cluster
