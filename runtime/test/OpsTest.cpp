// Operators of the runtime refuse what does not fit: a program file is not
// trusted. That they compute the right values, the node suite shows.
#include "hethub/runtime/ops.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

using namespace hethub::ops;

namespace {

at::Tensor longs(std::vector<int64_t> values) {
  return at::tensor(values, at::kLong);
}

/// One node over two leaves, with one table replaced.
struct Trees {
  at::Tensor x = at::zeros({2, 1}), features = longs({0}), modes = longs({0}),
             splits = at::zeros({1}), yes = longs({-1}), no = longs({-2}),
             missing = longs({0}), roots = longs({0}),
             starts = longs({0, 1, 2}), targets = longs({0, 0}),
             weights = at::ones({2}), memberStarts = longs({0, 0}),
             members = at::zeros({0});
  at::Tensor run(std::string_view aggregate = "SUM") const {
    return tree_ensemble(x, features, modes, splits, yes, no, missing, roots,
                         starts, targets, weights, memberStarts, members, 1,
                         aggregate);
  }
};

} // namespace

TEST(Ops, TreesRefuseTablesThatDoNotFit) {
  EXPECT_TRUE(at::equal(Trees().run(), at::ones({2, 1})));
  auto refuses = [](auto change) {
    Trees trees;
    change(trees);
    EXPECT_THROW(trees.run(), c10::Error);
  };
  refuses([](Trees &t) { t.features = longs({1}); });
  refuses([](Trees &t) { t.modes = longs({7}); });
  refuses([](Trees &t) { t.modes = longs({6}), t.memberStarts = longs({0}); });
  refuses([](Trees &t) { t.yes = longs({-3}); });
  refuses([](Trees &t) { t.no = longs({1}); });
  refuses([](Trees &t) { t.yes = t.no = longs({0}); }); // a cycle
  refuses([](Trees &t) { t.roots = longs({5}); });
  refuses([](Trees &t) { t.starts = longs({0, 3, 2}); });
  refuses([](Trees &t) { t.targets = longs({0, 1}); });
  refuses([](Trees &t) { t.weights = at::ones({1}); });
  refuses([](Trees &t) { t.splits = at::zeros({2}); });
  refuses([](Trees &t) { t.x = at::zeros({2}); });
  EXPECT_THROW(Trees().run("MEDIAN"), c10::Error);
}

TEST(Ops, RegionsLieInTheBatch) {
  at::Tensor x = at::ones({1, 2, 4, 4}), roi = at::tensor({0., 0., 2., 2.});
  roi = roi.reshape({1, 4});
  auto align = [&](at::Tensor batch, double scale) {
    return roi_align(x, roi, batch, {2, 2}, "avg", 0, scale, false);
  };
  EXPECT_TRUE(at::equal(align(longs({0}), 1), at::ones({1, 2, 2, 2})));
  EXPECT_THROW(align(longs({1}), 1), c10::Error);
  EXPECT_THROW(align(longs({-1}), 1), c10::Error);
  EXPECT_THROW(align(longs({0}), 1e30), c10::Error);
  EXPECT_THROW(align(longs({0, 0}), 1), c10::Error);
  at::Tensor box = at::tensor({3., 0., 0., 2., 2.}).reshape({1, 5});
  EXPECT_THROW(max_roi_pool(x, box, {2, 2}, 1), c10::Error);
}

TEST(Ops, SignalsHaveAnAxisAndALength) {
  at::Tensor x = at::ones({1, 4, 1});
  EXPECT_THROW(dft(x, 0, 1, false, false), c10::Error);
  EXPECT_THROW(dft(at::ones({1, 4, 3}), 4, 1, false, false), c10::Error);
  EXPECT_THROW(dft_by(x, std::nullopt, longs({2}).reshape({}), false, false),
               c10::Error);
  EXPECT_THROW(
      stft_by(x, at::zeros({}, at::kLong), std::nullopt, std::nullopt, true),
      c10::Error);
  EXPECT_THROW(window_of(at::ones({}, at::kLong), "kaiser", true, at::kFloat),
               c10::Error);
}

TEST(Ops, FormatsAndTablesAreKnown) {
  at::Tensor x = at::ones({2});
  EXPECT_THROW(encode_float(x, "f3", true, "up"), c10::Error);
  EXPECT_THROW(encode_float(x, "f8E8M0FNU", true, "away"), c10::Error);
  EXPECT_THROW(decode_float(x, "f4E2M1FN"), c10::Error); // no codes
  EXPECT_THROW(lookup_table(longs({1}), longs({1, 2}), longs({1}), longs({0})),
               c10::Error);
  EXPECT_THROW(compress_by(x, at::ones({3}, at::kBool), true, 0), c10::Error);
  EXPECT_THROW(grow_to(x, longs({1})), c10::Error);
}
