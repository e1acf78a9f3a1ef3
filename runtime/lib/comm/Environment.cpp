// RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT as torchrun sets them; else
// SLURM_PROCID and the rest as srun does.
#include "Environment.h"
#include "hethub/runtime/Error.h"

#include <charconv>
#include <cstdlib>
#include <optional>

using namespace hethub::runtime;

namespace {
std::string text(const char *name) {
  const char *value = std::getenv(name);
  return value ? value : "";
}

std::optional<int> number(const char *name, int lowest, int highest) {
  std::string value = text(name);
  if (value.empty())
    return std::nullopt;
  int result = 0;
  auto [end, error] =
      std::from_chars(value.data(), value.data() + value.size(), result);
  if (error != std::errc() || end != value.data() + value.size() ||
      result < lowest || result > highest)
    fail(name, " must be a number from ", lowest, " to ", highest,
         ", got: ", value);
  return result;
}

constexpr int most = 1 << 20;
} // namespace

std::string hethub::runtime::firstSlurmHost(const std::string &list) {
  std::string host;
  for (size_t i = 0; i < list.size() && list[i] != ','; ++i) {
    if (list[i] == '[') {
      for (++i; i < list.size() && list[i] != '-' && list[i] != ',' &&
                list[i] != ']';
           ++i)
        host += list[i];
      i = list.find(']', i);
      if (i == std::string::npos)
        break;
    } else {
      host += list[i];
    }
  }
  return host;
}

Launch hethub::runtime::readLaunch() {
  Launch launch;
  auto rank = number("RANK", 0, most), size = number("WORLD_SIZE", 1, most);
  bool slurm = false;
  if (!rank && !size) {
    rank = number("SLURM_PROCID", 0, most);
    size = number("SLURM_STEP_NUM_TASKS", 1, most);
    if (!size)
      size = number("SLURM_NTASKS", 1, most);
    // A batch script without srun has SLURM_PROCID alone: one rank.
    slurm = rank && size;
    if (!slurm)
      return launch;
  } else if (!rank || !size) {
    fail("RANK and WORLD_SIZE must both be set, missing: ",
         rank ? "WORLD_SIZE" : "RANK");
  }
  launch.rank = *rank;
  launch.size = *size;
  if (launch.rank >= launch.size)
    fail(slurm ? "SLURM_PROCID" : "RANK", " must be below the number of ranks ",
         launch.size, ", got: ", launch.rank);
  if (launch.size == 1)
    return launch;

  launch.address = text("MASTER_ADDR");
  auto port = number("MASTER_PORT", 1, 65535);
  if (slurm) {
    if (launch.address.empty())
      for (const char *name :
           {"SLURM_STEP_NODELIST", "SLURM_JOB_NODELIST", "SLURM_NODELIST"})
        if (launch.address.empty())
          launch.address = firstSlurmHost(text(name));
    // Ports of different jobs on one node differ, and all ranks of a step
    // compute the same.
    if (!port)
      port = 20000 + (number("SLURM_JOB_ID", 0, 1 << 30).value_or(0) * 17 +
                      number("SLURM_STEP_ID", 0, 1 << 30).value_or(0)) %
                         10000;
    launch.runName =
        "slurm" + text("SLURM_JOB_ID") + "." + text("SLURM_STEP_ID");
  }
  if (launch.address.empty())
    fail("MASTER_ADDR must be set for ", launch.size, " ranks");
  if (!port)
    fail("MASTER_PORT must be set for ", launch.size, " ranks");
  launch.port = *port;
  launch.agentStore = text("TORCHELASTIC_USE_AGENT_STORE") == "True";
  launch.runName += text("TORCHELASTIC_RUN_ID") + "/" +
                    text("TORCHELASTIC_RESTART_COUNT") + text("HETHUB_RUN_ID");
  return launch;
}
