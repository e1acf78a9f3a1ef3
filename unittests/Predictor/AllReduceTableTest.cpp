// Between and beyond the measured sizes.
#include "hethub/Predictor/AllReduceTable.h"

#include <gtest/gtest.h>

using namespace hethub::predictor;

namespace {

AllReduceTable table() { return {{1, 2, 4, 8}, {{2, {10, 12, 20, 40}}}}; }

TEST(AllReduceTable, MeasuredSizesAreThemselves) {
  EXPECT_DOUBLE_EQ(*table().lookUp(2, 1), 10);
  EXPECT_DOUBLE_EQ(*table().lookUp(2, 4), 20);
  EXPECT_DOUBLE_EQ(*table().lookUp(2, 8), 40);
}

TEST(AllReduceTable, LinesBetweenThem) {
  EXPECT_DOUBLE_EQ(*table().lookUp(2, 1.5), 11);
  EXPECT_DOUBLE_EQ(*table().lookUp(2, 7), 35);
}

TEST(AllReduceTable, LatencyAndBandwidthBeyondThem) {
  EXPECT_DOUBLE_EQ(*table().lookUp(2, 0), 8);   // 2 a byte at this end
  EXPECT_DOUBLE_EQ(*table().lookUp(2, 10), 50); // 5 a byte at that
  EXPECT_DOUBLE_EQ(*table().lookUp(2, 1e6), 40 + 5 * (1e6 - 8));
}

TEST(AllReduceTable, ScatterNeverMakesSmallMessagesSlowerOrTimesNegative) {
  AllReduceTable falling{{1, 2}, {{2, {10, 9}}}};
  EXPECT_DOUBLE_EQ(*falling.lookUp(2, 0.5), 10);
  EXPECT_DOUBLE_EQ(*falling.lookUp(2, 100), 9);
  AllReduceTable steep{{1, 2}, {{2, {1, 9}}}};
  EXPECT_DOUBLE_EQ(*steep.lookUp(2, 0), 0);
}

TEST(AllReduceTable, OneSizeIsConstant) {
  AllReduceTable one{{4}, {{3, {7}}}};
  EXPECT_DOUBLE_EQ(*one.lookUp(3, 1), 7);
  EXPECT_DOUBLE_EQ(*one.lookUp(3, 100), 7);
}

TEST(AllReduceTable, OtherRankCountsAreUnknown) {
  EXPECT_FALSE(table().lookUp(3, 1).has_value());
  EXPECT_FALSE(AllReduceTable().lookUp(2, 1).has_value());
}

} // namespace
