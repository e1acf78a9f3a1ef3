// Sums over all ranks and nothing else: what the gradients of replicas cost.
#include "Programs.h"
#include "comm/GlooComm.h"
#include "hethub/runtime/Error.h"
#include "hethub/runtime/Trace.h"
#include "io/FileWriter.h"
#include "run/Outputs.h"

#include <ATen/ops/zeros.h>
#include <nlohmann/json.hpp>

#include <algorithm>

using namespace hethub::runtime;

int hethub::runtime::probeSum(int64_t bytes, const RunOptions &options) {
  // The first ones meet memory that was not touched yet.
  constexpr int warmUp = 2;
  Launch launch = readLaunch();
  if (launch.size < 2)
    fail("--probe-sum needs at least 2 ranks, got: ", launch.size);
  StorePtr store = openStore(launch, options.timeoutS);
  std::unique_ptr<Comm> comm =
      makeGlooComm(store, "probe", launch.rank, launch.size, launch.address,
                   options.timeoutS);
  at::Tensor values = at::zeros({std::max<int64_t>(1, bytes / 4)},
                                at::TensorOptions().dtype(at::kFloat));
  std::vector<double> seconds;
  for (int run = 0; run < warmUp + options.repeats; ++run) {
    comm->barrier();
    auto begin = Clock::now();
    comm->allReduceSum(values)->wait();
    if (run >= warmUp)
      seconds.push_back(secondsBetween(begin, Clock::now()));
  }
  comm->barrier();
  std::sort(seconds.begin(), seconds.end());
  if (!options.stats.empty())
    writeFile(partName(options.stats, launch.rank, launch.size),
              nlohmann::json{{"sum_s", seconds[seconds.size() / 2]}}.dump() +
                  "\n");
  return 0;
}
