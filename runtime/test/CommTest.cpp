// The loop-back back end, the routes of channels, and the agreement check.
#include "Programs.h"
#include "comm/Agreement.h"
#include "comm/ChannelComms.h"
#include "comm/Control.h"
#include "comm/LoopbackComm.h"
#include "hethub/runtime/Error.h"
#include "program/Specification.h"

#include <ATen/ATen.h>
#include <c10/util/Exception.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <thread>

using namespace hethub::runtime;
using hethub::runtime::test::pipeline;

namespace {
TEST(Comm, LoopbackKeepsOrderPerTag) {
  LoopbackHub hub(2, 5);
  auto a = hub.comm(0), b = hub.comm(1);
  for (int i = 0; i < 3; ++i) {
    a->send(at::full({2}, i), 1, 7)->wait();
    a->send(at::full({2}, 10 + i), 1, 8)->wait();
  }
  for (int tag : {8, 7})
    for (int i = 0; i < 3; ++i) {
      at::Tensor got = at::empty({2}, at::kLong);
      b->receive(got, 0, tag)->wait();
      EXPECT_TRUE(at::equal(got, at::full({2}, (tag == 8 ? 10 : 0) + i)));
    }
}

TEST(Comm, LoopbackRefusesMessagesOfOtherLength) {
  LoopbackHub hub(2, 5);
  auto a = hub.comm(0), b = hub.comm(1);
  for (int64_t length : {1, 3}) { // shorter and longer than expected
    a->send(at::zeros({length}), 1, 0);
    at::Tensor got = at::zeros({2});
    WorkPtr work = b->receive(got, 0, 0);
    EXPECT_THROW(work->wait(), Error);
  }
}

TEST(Comm, LoopbackReceiveEndsByTimeoutAndByAbort) {
  LoopbackHub hub(2, 0.05);
  auto b = hub.comm(1);
  at::Tensor got = at::zeros({2});
  EXPECT_THROW(b->receive(got, 0, 0)->wait(), PeerError);
  LoopbackHub patient(2, 60);
  auto c = patient.comm(1);
  std::thread aborts([&] { patient.abort("reason"); });
  EXPECT_THROW(c->receive(got, 0, 0)->wait(), AbortedError);
  aborts.join();
}

TEST(Comm, CollectivesAgreeOnAllRanks) {
  constexpr int size = 3;
  LoopbackHub hub(size, 5);
  std::vector<at::Tensor> sums(size), spread(size);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < size; ++rank)
    threads.emplace_back([&, rank] {
      auto comm = hub.comm(rank);
      auto i = static_cast<size_t>(rank);
      sums[i] = at::full({2}, rank + 1.0);
      comm->allReduceSum(sums[i])->wait();
      comm->barrier();
      spread[i] = at::full({2}, rank);
      comm->broadcast(spread[i], 2)->wait();
    });
  for (std::thread &thread : threads)
    thread.join();
  for (size_t i = 0; i < size; ++i) {
    EXPECT_TRUE(at::equal(sums[i], at::full({2}, 6.0)));
    EXPECT_TRUE(at::equal(spread[i], at::full({2}, 2)));
  }
}

TEST(Comm, RoutesFollowTheDeviceKinds) {
  EXPECT_EQ(routeOf("cpu", "cpu"), Route::Host);
  EXPECT_EQ(routeOf("cuda", "cuda"), Route::Direct);
  EXPECT_EQ(routeOf("cuda", "rocm"), Route::Staged);
  EXPECT_EQ(routeOf("rocm", "rocm"), Route::Staged);
  EXPECT_EQ(routeOf("cpu", "cuda"), Route::Staged);
  // Where the plan found another way to be faster.
  EXPECT_EQ(routeOf("cuda", "cuda", /*viaHost=*/true), Route::Staged);
  EXPECT_EQ(routeOf("cpu", "cpu", /*viaHost=*/true), Route::Host);
  EXPECT_EQ(routeOf("cpu", "cpu", /*viaHost=*/true, 4096), Route::Staged);
  EXPECT_EQ(routeOf("cpu", "cpu", /*viaHost=*/false, 4096), Route::Host);
}

TEST(Comm, UnknownDeviceKindIsRefused) {
  try {
    deviceBackend("abacus");
    FAIL();
  } catch (const Error &error) {
    EXPECT_STREQ(error.what(),
                 "this runtime was built without devices of kind abacus");
  }
}

class CommAgreement : public testing::Test {
protected:
  std::string describe(const StageSpec &spec, int microbatches = 4) {
    return describeRank({&spec}, spec.stage, microbatches, 1,
                        expandSchedule(spec, 0, microbatches, 1));
  }
  StageSpec zero = specificationOf(pipeline({1, 1})[0]),
            one = specificationOf(pipeline({1, 1})[1]);
  const std::string sides =
      "rank 0 (stage 0 on type0) and rank 1 (stage 1 on type1) must agree on ";
};

TEST_F(CommAgreement, EqualPlansAgree) {
  EXPECT_EQ(disagreement(describe(one), describe(zero)), "");
}

TEST_F(CommAgreement, EachDifferenceNamesBothSides) {
  std::string mine = describe(one);
  StageSpec other = zero;
  other.planHash = "xyz";
  EXPECT_EQ(disagreement(mine, describe(other)),
            sides + "the plan (its hash), got: xyz and abc");
  other = zero;
  other.channels[0].shape = {2, 4};
  EXPECT_EQ(disagreement(mine, describe(other)),
            sides + "the type of channel 0 'h1', got: 2x4xfloat32 and "
                    "2x3xfloat32");
  other = zero;
  other.channels[0].dtype = at::kInt;
  EXPECT_EQ(disagreement(mine, describe(other)),
            sides +
                "the type of channel 0 'h1', got: 2x3xint32 and 2x3xfloat32");
  EXPECT_EQ(disagreement(mine, describe(zero, 3)),
            sides + "the number of microbatches, got: 3 and 4");
  other = zero;
  other.rows.pop_back();
  EXPECT_EQ(
      disagreement(mine, describe(other)),
      "rank 1 (stage 1 on type1) uses channel 2 'x' with rank 0 (stage 0 on "
      "type0), which does not know it");
  other = zero;
  other.perMicrobatch = false;
  other.microbatches = 2;
  other.rows = {{Action::Forward, -1, 1}, {Action::Send, 0, 1},
                {Action::Send, 2, 1},     {Action::Forward, -1, 0},
                {Action::Send, 0, 0},     {Action::Send, 2, 0}};
  EXPECT_EQ(disagreement(mine, describe(other)),
            sides + "the order of messages on channel 0 'h1', got: 1 0 3 2  "
                    "and 0 1 2 3 ");
}

TEST(Comm, RanksOfSeveralGroupsMayWaitInAnyOrder) {
  LoopbackHub hub(3, 20);
  std::vector<at::Tensor> sums(6);
  auto run = [&](int rank) {
    std::unique_ptr<Comm> comm = hub.comm(rank);
    // Ranks 0 and 1, 1 and 2, 0 and 2: each is in two groups.
    std::vector<std::pair<size_t, std::unique_ptr<Comm>>> groups;
    const std::vector<std::vector<int>> all = {{0, 1}, {1, 2}, {0, 2}};
    for (size_t i = 0; i < all.size(); ++i)
      if (std::count(all[i].begin(), all[i].end(), rank))
        groups.emplace_back(i, comm->group(all[i]));
    EXPECT_EQ(groups[0].second->size(), 2);
    std::vector<at::Tensor> values;
    std::vector<WorkPtr> works;
    for (auto &[index, group] : groups)
      values.push_back(at::full({2}, static_cast<double>(rank + 10 * index)));
    for (size_t i = 0; i < groups.size(); ++i)
      works.push_back(groups[i].second->allReduceSum(values[i]));
    // Every other rank waits for its second group first.
    if (rank % 2)
      std::swap(works[0], works[1]);
    for (WorkPtr &work : works)
      work->wait();
    for (size_t i = 0; i < groups.size(); ++i)
      sums[static_cast<size_t>(2 * rank) + i] = values[i];
  };
  std::thread one(run, 1), two(run, 2);
  run(0);
  one.join();
  two.join();
  std::vector<double> expected = {1, 42, 1, 23, 23, 42};
  for (size_t i = 0; i < sums.size(); ++i)
    EXPECT_TRUE(at::equal(sums[i], at::full({2}, expected[i]))) << i;
}

TEST(Comm, MessagesLoseBacktracesAndPositions) {
  EXPECT_EQ(messageOf(std::runtime_error(
                "[/pytorch/gloo/pair.cc:1] Connection closed by peer.")),
            "Connection closed by peer");
  try {
    TORCH_CHECK(false, "first line\nsecond line");
  } catch (const std::exception &error) {
    EXPECT_EQ(messageOf(error), "first line second line");
  }
}
} // namespace
