// Tables of runs, and what they refuse.
#include "hethub/Predictor/TrainingRun.h"

#include <gtest/gtest.h>

using namespace hethub::predictor;

namespace {

const std::string header =
    "id,gpus,global_batch,micro_batch,hidden,heads,layers,seq,tp,dp,pp\n";

std::string errorOf(const std::string &text) {
  llvm::Expected<std::vector<TrainingRun>> runs =
      parseTrainingRuns(text, "runs.csv");
  return runs ? "" : llvm::toString(runs.takeError());
}

TEST(TrainingRuns, ColumnsAreFoundByName) {
  llvm::Expected<std::vector<TrainingRun>> runs = parseTrainingRuns(
      "pp,note,gpus,id,global_batch,micro_batch,hidden,heads,"
      "layers,seq,tp,dp\r\n2, x ,8,a,16,2,64,4,6,32,2,2\r\n\r\n",
      "runs.csv");
  ASSERT_TRUE(bool(runs)) << llvm::toString(runs.takeError());
  ASSERT_EQ(runs->size(), 1u);
  const TrainingRun &run = runs->front();
  EXPECT_EQ(run.id, "a");
  EXPECT_EQ(run.microbatches(), 4);
  EXPECT_EQ(run.stageLayers(), 3);
  EXPECT_EQ(run.tokens(), 64);
}

TEST(TrainingRuns, MistakesNameLineRuleAndValue) {
  const std::pair<std::string, std::string> cases[] = {
      {"", "runs.csv: line 1: column 'id' must be present, got: "},
      {"id,gpus\na,1\n",
       "runs.csv: line 1: column 'global_batch' must be present, got: id,gpus"},
      {header, "runs.csv: a table must have at least one row, got: none"},
      {header + "a,1,8\n",
       "runs.csv: line 2: a row must have 11 fields, got: 3"},
      {header + "a,1,8,2,64,4,6,32,1,1,1\nb,1,8,2,64,4,many,32,1,1,1\n",
       "runs.csv: line 3: layers must be a whole number of at most 16777216, "
       "got: many"},
      {header + "a,1,8,2,64,4,6,32,1,1,0\n",
       "runs.csv: line 2: pp must be between 1 and 16777216, got: 0"},
      {header + "a,99999999999999999999,8,2,64,4,6,32,1,1,1\n",
       "runs.csv: line 2: gpus must be a whole number of at most 16777216, "
       "got: 99999999999999999999"},
      {header + "a,4,8,2,64,4,6,32,2,2,2\n",
       "runs.csv: line 2: gpus must be tp x dp x pp = 8, got: 4"},
      {header + "a,16777216,8,2,64,4,6,32,16777216,16777216,1\n",
       "runs.csv: line 2: gpus must be tp x dp x pp = 281474976710656, got: "
       "16777216"},
      {header + "a,2,9,2,64,4,6,32,1,2,1\n",
       "runs.csv: line 2: global_batch must be a multiple of dp x micro_batch "
       "= 4, got: 9"},
      {header + "a,4,8,2,64,4,6,32,1,1,4\n",
       "runs.csv: line 2: layers must be a multiple of pp = 4, got: 6"},
      {header + "a,4096,8388608,1,64,4,4096,32,1,1,4096\n",
       "runs.csv: line 2: microbatches x pp must be at most 16777216, got: "
       "34359738368"},
      {header + "a,8,8,2,64,4,6,32,8,1,1\n",
       "runs.csv: line 2: heads must be a multiple of tp = 8, got: 4"},
      {header + "a,1,8,2,66,4,6,32,1,1,1\n",
       "runs.csv: line 2: hidden must be a multiple of heads = 4, got: 66"},
      {header + ",1,8,2,64,4,6,32,1,1,1\n",
       "runs.csv: line 2: id must not be empty"},
      {header + "a,1,8,2,64,4,6,32,1,1,1\na,1,8,2,64,4,6,32,1,1,1\n",
       "runs.csv: line 3: id must occur once, got: a again"},
  };
  for (const auto &[text, message] : cases)
    EXPECT_EQ(errorOf(text), message);
}

} // namespace
