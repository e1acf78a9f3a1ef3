// Constants and machine as JSON, and what is refused.
#include "hethub/Predictor/Calibration.h"

#include <gtest/gtest.h>
#include <set>

using namespace hethub::predictor;
using namespace llvm;

namespace {

json::Object constants() {
  json::Object object;
  for (const ConstantInfo &info : constantInfos())
    object[info.name] = info.expected;
  return object;
}

json::Object machine() {
  return json::Object{
      {"peak_flops", 1e14},
      {"memory_bytes", 8e10},
      {"accelerators_per_node", 8},
      {"node_bandwidth", 1e11},
      {"network_bandwidth", 5e10},
      {"value_bytes", 2},
      {"vocabulary", 1000},
      {"checkpointing", true},
      {"all_reduce",
       json::Object{{"bytes", json::Array{1, 2}},
                    {"seconds", json::Object{{"2", json::Array{3, 4}}}}}}};
}

std::string errorOf(json::Object machine, json::Object constants) {
  Expected<Calibration> calibration = calibrationFromJSON(json::Object{
      {"machine", std::move(machine)}, {"constants", std::move(constants)}});
  return calibration ? "" : toString(calibration.takeError());
}

TEST(Calibration, BoundsHoldWhatIsExpected) {
  std::set<StringRef> names;
  for (const ConstantInfo &info : constantInfos()) {
    EXPECT_LT(info.lowest, info.expected) << info.name.str();
    EXPECT_LT(info.expected, info.highest) << info.name.str();
    EXPECT_GT(info.lowest, 0) << info.name.str();
    EXPECT_GT(info.spread, 0) << info.name.str();
    EXPECT_TRUE(names.insert(info.name).second) << info.name.str();
  }
}

TEST(Calibration, ReadsAllFigures) {
  Expected<Calibration> calibration = calibrationFromJSON(json::Object{
      {"machine", machine()}, {"constants", constants()}, {"version", 1}});
  ASSERT_TRUE(bool(calibration)) << toString(calibration.takeError());
  EXPECT_EQ(calibration->machine.vocabulary, 1000);
  EXPECT_EQ(calibration->machine.networkBandwidth, 5e10);
  EXPECT_DOUBLE_EQ(*calibration->machine.allReduce.lookUp(2, 2), 4);
  EXPECT_EQ(calibration->constants.launchSeconds, Constants().launchSeconds);
}

TEST(Calibration, TheTableMayBeMissing) {
  json::Object object = machine();
  object.erase("all_reduce");
  EXPECT_EQ(errorOf(std::move(object), constants()), "");
}

TEST(Calibration, MistakesNameFieldRuleAndValue) {
  using Change = void (*)(json::Object &machine, json::Object &constants);
  const std::pair<Change, const char *> cases[] = {
      {[](json::Object &, json::Object &c) { c.erase("kernel_seconds"); },
       "constants.kernel_seconds must be between 1e-06 and 0.01 s, got: "
       "nothing"},
      {[](json::Object &, json::Object &c) { c["matmul_efficiency"] = 1.5; },
       "constants.matmul_efficiency must be between 0.2 and 0.9, got: 1.5"},
      {[](json::Object &, json::Object &c) { c["head_seconds"] = "fast"; },
       "constants.head_seconds must be between 1e-06 and 0.1 s, got: \"fast\""},
      {[](json::Object &, json::Object &c) { c["magic"] = 1; },
       "constants must be those of this model, got: magic"},
      {[](json::Object &m, json::Object &) { m.erase("peak_flops"); },
       "machine.peak_flops must be a number above 0, got: nothing"},
      {[](json::Object &m, json::Object &) { m["node_bandwidth"] = -1; },
       "machine.node_bandwidth must be a number above 0, got: -1"},
      {[](json::Object &m, json::Object &) { m["vocabulary"] = 0; },
       "machine.vocabulary must be between 1 and 16777216, got: 0"},
      {[](json::Object &m, json::Object &) { m["checkpointing"] = 1; },
       "machine.checkpointing must be true or false, got: 1"},
      {[](json::Object &m, json::Object &) {
         (*m.getObject("all_reduce"))["bytes"] = json::Array{2, 1};
       },
       "machine.all_reduce.bytes must ascend"},
      {[](json::Object &m, json::Object &) {
         (*m.getObject("all_reduce"))["seconds"] =
             json::Object{{"2", json::Array{1}}};
       },
       "machine.all_reduce.seconds.2 must have one time for each of the 2 "
       "sizes, got: 1"},
      {[](json::Object &m, json::Object &) {
         (*m.getObject("all_reduce"))["seconds"] =
             json::Object{{"1", json::Array{1, 2}}};
       },
       "machine.all_reduce.seconds.1 must be named by a rank count of at "
       "least 2"},
      {[](json::Object &m, json::Object &) {
         (*m.getObject("all_reduce"))["seconds"] =
             json::Object{{"2", json::Array{1, -2}}};
       },
       "machine.all_reduce.seconds.2 must be a list of numbers above 0"},
  };
  for (const auto &[change, message] : cases) {
    json::Object m = machine(), c = constants();
    change(m, c);
    EXPECT_EQ(errorOf(std::move(m), std::move(c)), message);
  }
}

} // namespace
