// Shapes, sequences and strings that only a run knows.
#include "hethub/runtime/DynamicOps.h"
#include "Programs.h"
#include "hethub/runtime/Npz.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

using namespace hethub::ops;
using namespace hethub::runtime;
using namespace hethub::runtime::test;

namespace {
at::Tensor ints(std::vector<int64_t> values) {
  return at::tensor(values, at::TensorOptions(at::kLong));
}
at::Tensor words(const std::vector<std::string> &values) {
  return strings(values, {static_cast<int64_t>(values.size())});
}
std::vector<std::string> textsOf(const at::Tensor &x) {
  at::Tensor flat = x.reshape({-1});
  std::vector<std::string> texts;
  for (int64_t i = 0; i < flat.size(0); ++i)
    texts.push_back(stringOf(flat[i].item<int64_t>()));
  return texts;
}
} // namespace

TEST(DynamicOps, ReshapesByATensor) {
  at::Tensor x = at::arange(6).reshape({2, 3});
  EXPECT_EQ(reshape_to(x, ints({0, -1}), false).sizes(),
            at::IntArrayRef({2, 3}));
  EXPECT_EQ(reshape_to(at::empty({0, 3}), ints({3, 0}), true).sizes(),
            at::IntArrayRef({3, 0}));
  EXPECT_THROW(reshape_to(x, ints({5}), false), std::exception);
  EXPECT_THROW(reshape_to(x, ints({1, 6, 0}), false), std::exception);
  EXPECT_EQ(flatten_at(at::zeros({2, 3, 4}), 2).sizes(),
            at::IntArrayRef({6, 4}));
}

TEST(DynamicOps, SlicesAsPythonDoes) {
  at::Tensor x = at::arange(7);
  auto slice = [&](int64_t start, int64_t end, int64_t step) {
    return slice_by(x, ints({start}), ints({end}), ints({0}), ints({step}));
  };
  constexpr int64_t far = std::numeric_limits<int64_t>::max();
  EXPECT_TRUE(at::equal(slice(1, 6, 2), ints({1, 3, 5})));
  EXPECT_TRUE(at::equal(slice(-2, far, 1), ints({5, 6})));
  EXPECT_TRUE(at::equal(slice(far, -far - 1, -3), ints({6, 3, 0})));
  EXPECT_EQ(slice(5, 2, 1).numel(), 0);
  EXPECT_THROW(slice(0, 1, 0), std::exception);
}

TEST(DynamicOps, SplitsUnevenly) {
  at::Tensor x = at::arange(7);
  EXPECT_TRUE(at::equal(split_part(x, {}, 0, 3, 2), ints({6})));
  EXPECT_TRUE(
      at::equal(split_part(x, ints({2, 5}), 0, 2, 1), ints({2, 3, 4, 5, 6})));
  EXPECT_THROW(split_part(x, ints({2, 4}), 0, 2, 1), std::exception);
}

TEST(DynamicOps, GathersAndScattersRows) {
  at::Tensor x = at::arange(8).reshape({2, 2, 2});
  at::Tensor rows = ints({0, 1, 1, -2}).reshape({2, 2});
  EXPECT_TRUE(
      at::equal(gather_nd(x, rows, 0), ints({2, 3, 4, 5}).reshape({2, 2})));
  at::Tensor one = ints({1, 0}).reshape({2, 1}); // of each batch entry
  EXPECT_TRUE(
      at::equal(gather_nd(x, one, 1), ints({2, 3, 4, 5}).reshape({2, 2})));
  EXPECT_THROW(gather_nd(x, ints({2}), 0), std::exception);
  at::Tensor updates = ints({10, 20, 30, 40}).reshape({2, 2});
  EXPECT_TRUE(at::equal(scatter_nd(x, rows, updates, "none").reshape({-1}),
                        ints({0, 1, 10, 20, 30, 40, 6, 7})));
  at::Tensor twice = ints({0, 0, 0, 0}).reshape({2, 2});
  EXPECT_TRUE(at::equal(scatter_nd(x, twice, updates, "add").select(0, 0),
                        ints({40, 61, 2, 3}).reshape({2, 2})));
  EXPECT_TRUE(at::equal(scatter_elements(at::zeros({3}, at::kLong), ints({-1}),
                                         ints({7}), -1, "max"),
                        ints({0, 0, 7})));
  EXPECT_THROW(scatter_nd(x, rows, updates, "mean"), std::exception);
}

TEST(DynamicOps, ReducesNothingToTheNeutralElement) {
  at::Tensor none = at::zeros({2, 0});
  constexpr float infinity = std::numeric_limits<float>::infinity();
  auto of = [&](const char *kind, const at::Tensor &x) {
    return reduce_by(x, ints({1}), kind, false, false)[0].item<double>();
  };
  EXPECT_EQ(of("Sum", none), 0);
  EXPECT_EQ(of("Prod", none), 1);
  EXPECT_EQ(of("Max", none), -infinity);
  EXPECT_EQ(of("Min", none.to(at::kChar)), 127);
  EXPECT_TRUE(std::isnan(of("Mean", none)));
  at::Tensor x = at::randn({3, 4}, at::kDouble);
  EXPECT_TRUE(at::allclose(reduce_by(x, ints({-1}), "LogSumExp", true, false),
                           x.exp().sum(1, true).log()));
  EXPECT_TRUE(at::equal(reduce_by(x, {}, "Sum", false, true), x));
  EXPECT_TRUE(at::allclose(reduce_by(x, {}, "L2", false, false),
                           x.square().sum().sqrt()));
}

TEST(DynamicOps, Col2ImIsLibTorchs) {
  // [7 + 2 - 2] / 2 + 1 = 4 rows and [6 + 2 - 5] + 1 = 4 columns of blocks.
  at::Tensor x = at::randn({2, 12, 16});
  at::Tensor mine =
      col2im_by(x, ints({7, 6}), ints({2, 3}), {1, 2}, {1, 1, 1, 1}, {2, 1});
  EXPECT_TRUE(at::allclose(
      mine, at::col2im(x, {7, 6}, {2, 3}, {1, 2}, {1, 1}, {2, 1})));
}

TEST(DynamicOps, SequencesAreValues) {
  at::Tensor one = ints({1}), two = at::zeros({2, 2});
  at::Tensor sequence = sequence_construct({one, two});
  EXPECT_TRUE(isSequence(sequence));
  EXPECT_FALSE(isSequence(one));
  EXPECT_TRUE(at::equal(sequence_at(sequence, ints({-1}).squeeze()), two));
  at::Tensor longer =
      sequence_insert(sequence, one, at::scalar_tensor(0).to(at::kLong));
  EXPECT_EQ(sequence_length(longer).item<int64_t>(), 3);
  EXPECT_EQ(sequence_length(sequence).item<int64_t>(), 2); // not changed
  EXPECT_EQ(sequence_length(sequence_erase(longer, {})).item<int64_t>(), 2);
  EXPECT_THROW(sequence_at(sequence, ints({2})), std::exception);
  EXPECT_THROW(sequence_at(one, ints({0})), std::exception);
  at::Tensor parts = split_to_sequence(
      at::arange(5), at::scalar_tensor(2).to(at::kLong), 0, true);
  EXPECT_EQ(elementsOf(parts).size(), 3u);
  EXPECT_TRUE(at::equal(concat_from_sequence(parts, 0, false), at::arange(5)));
  EXPECT_FALSE(optional_has_element(optional_none()).item<bool>());
  EXPECT_TRUE(optional_has_element(sequence).item<bool>());
  EXPECT_THROW(optional_get_element(optional_none()), std::exception);
}

TEST(DynamicOps, SequencesAndStringsInFiles) {
  TemporaryFolder folder;
  at::Tensor nested =
      sequence_construct({sequence_construct({at::arange(3)}), sequenceOf({})});
  std::vector<NamedArray> arrays;
  appendValue(arrays, "s", nested, false);
  appendValue(arrays, "none", optional_none(), false);
  appendValue(arrays, "t", words({"", "é €", "x"}), true);
  writeNpz(folder / "a.npz", arrays);
  NpzReader file(folder / "a.npz");
  at::Tensor read = readValue(file, "s");
  ASSERT_EQ(elementsOf(read).size(), 2u);
  EXPECT_TRUE(at::equal(elementsOf(elementsOf(read)[0])[0], at::arange(3)));
  EXPECT_TRUE(elementsOf(elementsOf(read)[1]).empty());
  EXPECT_TRUE(isNone(readValue(file, "none")));
  EXPECT_TRUE(file.isText("t"));
  EXPECT_EQ(textsOf(file.read("t")),
            (std::vector<std::string>{"", "é €", "x"}));
}

TEST(DynamicOps, Strings) {
  at::Tensor x = words({"a b  c", " d "});
  auto [parts, counts] = string_split(x, "", -1);
  EXPECT_EQ(textsOf(parts),
            (std::vector<std::string>{"a", "b", "c", "d", "", ""}));
  EXPECT_TRUE(at::equal(counts, ints({3, 1})));
  EXPECT_EQ(textsOf(std::get<0>(string_split(words({"a,b,c"}), ",", 1))),
            (std::vector<std::string>{"a", "b,c"}));
  EXPECT_EQ(textsOf(string_concat(words({"a", "b"}), strings({"!"}, {}))),
            (std::vector<std::string>{"a!", "b!"}));
  EXPECT_EQ(textsOf(string_normalizer(words({"Éa", "mon"}), words({"MON"}),
                                      "UPPER", false)),
            (std::vector<std::string>{"ÉA"}));
  EXPECT_TRUE(at::equal(regex_full_match(words({"ab", "b"}), "a.*"),
                        ints({1, 0}).to(at::kBool)));
  EXPECT_THROW(regex_full_match(words({"a"}), "("), std::exception);
  EXPECT_THROW(regex_full_match(words({std::string(100000, 'a')}), "(a|b)*"),
               std::exception);
}
