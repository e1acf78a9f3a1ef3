// The environments of torchrun, srun and a plain shell.
#include "comm/Environment.h"
#include "hethub/runtime/Error.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <map>

using namespace hethub::runtime;

namespace {
class Environment : public testing::Test {
protected:
  void SetUp() override { clear(); }
  void TearDown() override { clear(); }
  void set(const std::map<std::string, std::string> &variables) {
    clear();
    for (const auto &[name, value] : variables)
      setenv(name.c_str(), value.c_str(), 1);
  }
  std::string refusal(const std::map<std::string, std::string> &variables) {
    set(variables);
    try {
      readLaunch();
    } catch (const Error &error) {
      return error.what();
    }
    return "no error";
  }

private:
  void clear() {
    for (const char *name :
         {"RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT", "SLURM_PROCID",
          "SLURM_NTASKS", "SLURM_STEP_NUM_TASKS", "SLURM_STEP_NODELIST",
          "SLURM_JOB_NODELIST", "SLURM_NODELIST", "SLURM_JOB_ID",
          "SLURM_STEP_ID", "TORCHELASTIC_USE_AGENT_STORE",
          "TORCHELASTIC_RUN_ID", "TORCHELASTIC_RESTART_COUNT", "HETHUB_RUN_ID"})
      unsetenv(name);
  }
};

TEST_F(Environment, NothingSetIsOneRank) {
  EXPECT_EQ(readLaunch().size, 1);
  EXPECT_EQ(readLaunch().rank, 0);
}

TEST_F(Environment, TorchrunRanksAreClientsOfItsStore) {
  set({{"RANK", "0"},
       {"WORLD_SIZE", "2"},
       {"MASTER_ADDR", "host"},
       {"MASTER_PORT", "1234"},
       {"TORCHELASTIC_USE_AGENT_STORE", "True"},
       {"TORCHELASTIC_RESTART_COUNT", "1"},
       {"TORCHELASTIC_RUN_ID", "job"}});
  Launch launch = readLaunch();
  EXPECT_FALSE(launch.hostsStore());
  EXPECT_EQ(launch.port, 1234);
  std::string attempt = launch.runName;
  setenv("TORCHELASTIC_RESTART_COUNT", "2", 1);
  EXPECT_NE(readLaunch().runName, attempt);
}

TEST_F(Environment, SrunNamesHostAndPort) {
  std::map<std::string, std::string> variables = {
      {"SLURM_PROCID", "3"},
      {"SLURM_NTASKS", "4"},
      {"SLURM_STEP_NODELIST", "gpu[03-05,9],login1"},
      {"SLURM_JOB_ID", "77"},
      {"SLURM_STEP_ID", "0"}};
  set(variables);
  Launch launch = readLaunch();
  EXPECT_EQ(launch.rank, 3);
  EXPECT_EQ(launch.size, 4);
  EXPECT_EQ(launch.address, "gpu03");
  int port = launch.port;
  variables["SLURM_PROCID"] = "0";
  set(variables);
  EXPECT_EQ(readLaunch().port, port);
  EXPECT_TRUE(readLaunch().hostsStore());
  EXPECT_EQ(firstSlurmHost("a,b"), "a");
  EXPECT_EQ(firstSlurmHost("n[1,3]x"), "n1x");
  EXPECT_EQ(firstSlurmHost("n[1"), "n1");
}

TEST_F(Environment, RefusesHalfSetAndBadValues) {
  EXPECT_EQ(refusal({{"RANK", "0"}}),
            "RANK and WORLD_SIZE must both be set, missing: WORLD_SIZE");
  EXPECT_EQ(refusal({{"RANK", "2"}, {"WORLD_SIZE", "2"}}),
            "RANK must be below the number of ranks 2, got: 2");
  EXPECT_EQ(refusal({{"RANK", "0"}, {"WORLD_SIZE", "2"}}),
            "MASTER_ADDR must be set for 2 ranks");
  EXPECT_EQ(refusal({{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "h"}}),
            "MASTER_PORT must be set for 2 ranks");
  EXPECT_EQ(refusal({{"RANK", "0"},
                     {"WORLD_SIZE", "2"},
                     {"MASTER_ADDR", "h"},
                     {"MASTER_PORT", "99999"}}),
            "MASTER_PORT must be a number from 1 to 65535, got: 99999");
  EXPECT_NE(refusal({{"RANK", "x"}, {"WORLD_SIZE", "2"}})
                .find("RANK must be a number"),
            std::string::npos);
}
} // namespace
