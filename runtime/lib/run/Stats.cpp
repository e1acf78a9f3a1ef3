// What a rank measured, in seconds, bytes and samples per second.
#include "Stats.h"
#include "schedule/Emulation.h"

#include <nlohmann/json.hpp>
#include <sys/resource.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <string>
#include <thread>

using namespace hethub::runtime;

int64_t hethub::runtime::maxResidentBytes() {
  // getrusage would also count what the process was before exec: a copy of the
  // launcher, which may be far larger than a rank.
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.rfind("VmHWM:", 0) == 0)
      return std::strtoll(line.c_str() + 6, nullptr, 10) * 1024;
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<int64_t>(usage.ru_maxrss) * 1024;
}

std::string hethub::runtime::statsLine(const StageSpec &spec, int rank,
                                       const RunOptions &options,
                                       const RunStats &stats) {
  std::vector<Place> places = placesOf(spec, rank);
  const Place &place = places[0];
  const DeviceSpec &device = spec.stages[static_cast<size_t>(place.stage)];
  int microbatches = spec.training ? spec.microbatches : options.microbatches;
  int64_t repeats = spec.training ? stats.steps : options.repeats;
  double samples =
      static_cast<double>(std::max<int64_t>(1, spec.microbatchAxisSize)) *
      microbatches;
  std::vector<double> computes = stats.computeS;
  std::sort(computes.begin(), computes.end());
  nlohmann::json line = {
      {"rank", rank},
      {"stage", place.stage},
      {"replica", place.replica},
      {"device_type", device.type},
      {"device_kind", device.kind},
      {"microbatches", microbatches},
      {"repeats", repeats},
      {"threads", options.threads},
      {"samples", samples},
      {"load_s", stats.loadS},
      {"wall_s", stats.wallS},
      {"start_s", stats.startS},
      {"repeat_begin_s", stats.repeatBeginS},
      {"repeat_end_s", stats.repeatEndS},
      {"repeat_busy_s", stats.repeatBusyS},
      {"wait_s", stats.waitS},
      {"send_s", stats.sendS},
      {"computes", stats.computes},
      {"compute_median_s",
       computes.empty() ? 0.0 : computes[computes.size() / 2]},
      {"overruns", stats.overruns},
      {"bytes_sent", stats.bytesSent},
      {"bytes_received", stats.bytesReceived},
      {"weights_bytes", stats.weightsBytes},
      {"max_rss_bytes", maxResidentBytes()},
      {"emulated", stats.emulated},
      {"samples_per_s",
       stats.wallS > 0 ? samples * static_cast<double>(repeats) / stats.wallS
                       : 0.0}};
  if (places.size() > 1)
    for (const Place &each : places)
      line["stages"].push_back(each.stage);
  // Without the first repeat, in which the pipeline fills and caches are cold.
  if (stats.repeatEndS.size() > 1)
    line["steady_samples_per_s"] =
        samples * static_cast<double>(stats.repeatEndS.size() - 1) /
        (stats.repeatEndS.back() - stats.repeatEndS.front());
  if (stats.emulated) {
    line["busy_shares"] = busyShares(spec);
    line["cores"] = std::thread::hardware_concurrency();
  }
  return line.dump() + "\n";
}
