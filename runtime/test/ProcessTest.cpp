// Ranks as processes over Gloo: the right answer, and every way in which a rank
// can let the others down.
#include "Processes.h"
#include "Programs.h"
#include "hethub/runtime/Npz.h"
#include "hethub/runtime/Stage.h"

#include <ATen/ATen.h>
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

using namespace hethub;
using namespace hethub::runtime;
using namespace hethub::runtime::test;

namespace {
constexpr double limitS = 60; // for a whole test on a busy machine

class Process : public testing::Test {
protected:
  void SetUp() override {
    x = at::rand({8, 3});
    writeNpz(folder / "in.npz", {{"x", x}});
    programs = pipeline({1, 2, 1});
  }
  std::string out() { return folder / "out.npz"; }
  void startRank(int rank, int port, std::vector<std::string> more = {}) {
    std::vector<std::string> arguments{folder.path().string(),
                                       "--inputs",
                                       folder / "in.npz",
                                       "--outputs",
                                       out(),
                                       "--microbatches",
                                       "4"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    processes.start(arguments, rankEnvironment(rank, 4, port));
  }
  void startAll(const std::vector<std::string> &more = {}) {
    writePrograms(programs, folder.path().string());
    int port = freePort();
    for (int rank = 0; rank < 4; ++rank)
      startRank(rank, port, more);
  }
  void makeSlow(double seconds) {
    for (StageProgram &program : programs)
      for (Stage &stage : *program.mutable_stages()) {
        stage.set_emulated_slowdown(4); // four ranks keep one core busy
        stage.set_profiled_forward_s(seconds / 4);
      }
  }
  /// Until all ranks have found each other; under sanitizers that takes longer
  /// (utils/sanitize.sh).
  static void letThemCompute() {
    const char *patience = std::getenv("HETHUB_TEST_PATIENCE");
    std::this_thread::sleep_for(
        std::chrono::seconds(5 * (patience ? std::atoi(patience) : 1)));
  }
  /// All ranks but `except` end with code 1 and one line that contains `part`.
  void expectAllStop(size_t except, const std::string &part) {
    for (size_t rank = 0; rank < 4; ++rank) {
      if (rank == except)
        continue;
      EXPECT_EQ(processes.wait(rank, limitS), 1) << "rank " << rank;
      std::string errors = processes.errors(rank);
      EXPECT_NE(errors.find(part), std::string::npos)
          << "rank " << rank << ": " << errors;
      EXPECT_EQ(std::count(errors.begin(), errors.end(), '\n'), 1) << errors;
    }
    EXPECT_FALSE(std::filesystem::exists(out()));
  }

  TemporaryFolder folder;
  Processes processes{folder.path().string()};
  std::vector<StageProgram> programs;
  at::Tensor x;
};

TEST_F(Process, FourRanksGiveTheRightAnswer) {
  startAll({"--stats", folder / "stats", "--trace", folder / "trace"});
  for (size_t rank = 0; rank < 4; ++rank)
    EXPECT_EQ(processes.wait(rank, limitS), 0) << processes.errors(rank);
  at::Tensor y = x;
  for (int i = 0; i < 3; ++i)
    y = y * 2 + (i + 1);
  EXPECT_TRUE(at::equal(NpzReader(out()).read("y"), y + x));
  for (int rank = 0; rank < 4; ++rank) {
    std::string suffix = ".rank" + std::to_string(rank);
    EXPECT_FALSE(std::filesystem::exists(out() + suffix)); // parts are joined
    EXPECT_EQ(nlohmann::json::parse(
                  std::ifstream(folder / ("stats" + suffix)))["rank"],
              rank);
    EXPECT_TRUE(std::filesystem::exists(folder / ("trace" + suffix)));
  }
}

TEST_F(Process, DisagreementNamesBothSides) {
  programs[2].mutable_channels(0)->mutable_type()->set_dims(1, 4);
  programs[2].mutable_functions(0)->mutable_inputs(0)->mutable_type()->set_dims(
      1, 4);
  startAll({"--timeout", "30"});
  expectAllStop(99, "must agree on the type of channel 1 'h2'");
}

TEST_F(Process, AMissingInputStopsAllRanks) {
  writeNpz(folder / "in.npz", {{"z", x}});
  startAll({"--timeout", "30"});
  expectAllStop(99, "rank 0 (stage 0 on type0) failed: input 'x' is missing");
}

TEST_F(Process, AChangedProgramFileStopsAllRanks) {
  writePrograms(programs, folder.path().string());
  std::string path = folder / "stage_2/program.pb";
  std::filesystem::resize_file(path, std::filesystem::file_size(path) - 1);
  int port = freePort();
  for (int rank = 0; rank < 4; ++rank)
    startRank(rank, port, {"--timeout", "30"});
  expectAllStop(99, "rank 3");
}

TEST_F(Process, AKilledRankStopsTheOthers) {
  makeSlow(5);
  startAll({"--timeout", "30"});
  letThemCompute();
  processes.signal(1, SIGKILL);
  auto begin = std::chrono::steady_clock::now();
  expectAllStop(1, "rank 1 (stage 1 on type1) failed: its connection is lost");
  EXPECT_LT(
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin)
          .count(),
      30);
}

TEST_F(Process, AStoppedRankStopsTheOthers) {
  makeSlow(3);
  startAll({"--timeout", "10"});
  letThemCompute();
  processes.signal(2, SIGSTOP);
  auto begin = std::chrono::steady_clock::now();
  expectAllStop(
      2, "rank 2 (stage 1 on type1, replica 1) failed: it stopped answering");
  EXPECT_LT(
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin)
          .count(),
      10);
}

TEST_F(Process, AKilledStoreHostStopsTheOthers) {
  makeSlow(5);
  startAll({"--timeout", "30"});
  letThemCompute();
  processes.signal(0, SIGKILL);
  expectAllStop(0, "rank 0 (stage 0 on type0) failed: ");
}

TEST_F(Process, AStoppedStoreHostStopsTheOthers) {
  makeSlow(3);
  startAll({"--timeout", "10"});
  letThemCompute();
  processes.signal(0, SIGSTOP);
  expectAllStop(0, "rank 0 (stage 0 on type0) failed: it stopped answering");
}

TEST_F(Process, AMissingRankIsNamed) {
  writePrograms(programs, folder.path().string());
  int port = freePort();
  for (int rank = 0; rank < 3; ++rank)
    startRank(rank, port, {"--timeout", "5"});
  for (size_t rank = 0; rank < 3; ++rank) {
    EXPECT_EQ(processes.wait(rank, limitS), 1);
    EXPECT_NE(processes.errors(rank).find("rank 3 (stage 2 on type2)"),
              std::string::npos)
        << processes.errors(rank);
  }
}

TEST_F(Process, ARankThatIsLostBeforeAllHaveComeIsNamed) {
  writePrograms(programs, folder.path().string());
  int port = freePort();
  for (int rank = 0; rank < 3; ++rank)
    startRank(rank, port, {"--timeout", "120"});
  letThemCompute();
  processes.signal(1, SIGKILL);
  auto begin = std::chrono::steady_clock::now();
  for (size_t rank : {0, 2}) {
    EXPECT_EQ(processes.wait(rank, limitS), 1);
    EXPECT_NE(processes.errors(rank).find("rank 1 (stage 1 on type1"),
              std::string::npos)
        << processes.errors(rank);
    EXPECT_NE(processes.errors(rank).find("failed: it stopped answering"),
              std::string::npos)
        << processes.errors(rank);
  }
  EXPECT_LT(
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin)
          .count(),
      10);
}

TEST_F(Process, APortInUseIsNamed) {
  writePrograms(programs, folder.path().string());
  int taken = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_ANY);
  ASSERT_EQ(
      bind(taken, reinterpret_cast<sockaddr *>(&address), sizeof(address)), 0);
  ASSERT_EQ(listen(taken, 1), 0);
  socklen_t length = sizeof(address);
  getsockname(taken, reinterpret_cast<sockaddr *>(&address), &length);
  int port = ntohs(address.sin_port);
  startRank(0, port, {"--timeout", "5"});
  EXPECT_EQ(processes.wait(0, limitS), 1);
  EXPECT_NE(processes.errors(0).find("port " + std::to_string(port) +
                                     " is already in use"),
            std::string::npos)
      << processes.errors(0);
  close(taken);
}

TEST_F(Process, WrongNumberOfRanksAndUnknownArguments) {
  writePrograms(programs, folder.path().string());
  processes.start({folder / "stage_0/program.pb"}, {});
  EXPECT_EQ(processes.wait(0, limitS), 1);
  EXPECT_EQ(processes.errors(0),
            "error: the plan of 'pipeline' needs 4 ranks, got: 1 (start it "
            "with `hethub run`, torchrun or srun)\n");
  processes.start({folder / "stage_0/program.pb", "--frobnicate"}, {});
  EXPECT_EQ(processes.wait(1, limitS), 1);
  EXPECT_EQ(processes.errors(1),
            "error: unknown argument, see --help: --frobnicate\n");
  processes.start({folder / "stage_9/program.pb"}, {});
  EXPECT_EQ(processes.wait(2, limitS), 1);
  EXPECT_NE(processes.errors(2).find("error: cannot open"), std::string::npos);
}

TEST_F(Process, ASuiteRunsAllCasesAndKeepsErrorsApart) {
  for (const char *name : {"a", "b", "c"}) {
    writePrograms(programs, folder / (std::string("suite/") + name));
    if (name[0] != 'b')
      writeNpz(folder / (std::string("suite/") + name + "/inputs.npz"),
               {{"x", x}});
  }
  processes.start({"--suite", folder / "suite", "--microbatches", "4"}, {});
  EXPECT_EQ(processes.wait(0, limitS), 1);
  for (const char *name : {"a", "b", "c"}) {
    bool good = name[0] != 'b';
    EXPECT_EQ(std::filesystem::exists(
                  folder / (std::string("suite/") + name + "/outputs.npz")),
              good);
    EXPECT_EQ(std::filesystem::exists(
                  folder / (std::string("suite/") + name + "/error.txt")),
              !good);
  }
}
} // namespace
