// .npz files of our own, damaged ones, and the header forms that NumPy writes.
#include "hethub/runtime/Npz.h"
#include "Programs.h"
#include "hethub/runtime/DTypes.h"
#include "hethub/runtime/Error.h"
#include "hethub/runtime/Stage.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <fstream>

using namespace hethub::runtime;
using hethub::runtime::test::TemporaryFolder;

namespace {
std::string messageOfCall(const std::function<void()> &call) {
  try {
    call();
  } catch (const Error &error) {
    return error.what();
  }
  return "no error";
}

std::string npy(const std::string &dict, int version = 1) {
  std::string header = dict + "\n";
  std::string text =
      std::string("\x93NUMPY") + static_cast<char>(version) + '\0';
  text += static_cast<char>(header.size() & 0xff);
  text += static_cast<char>(header.size() >> 8);
  if (version > 1)
    text += std::string(2, '\0');
  return text + header;
}

TEST(Npz, KeepsEveryDtypeAndShape) {
  TemporaryFolder folder;
  std::vector<NamedArray> arrays;
  for (at::ScalarType dtype :
       {at::kFloat, at::kDouble, at::kHalf, at::kBFloat16, at::kLong, at::kInt,
        at::kShort, at::kChar, at::kByte, at::kBool, at::kComplexFloat})
    for (const Shape &shape :
         {Shape{}, Shape{3}, Shape{2, 3}, Shape{0, 4}, Shape{1, 2, 3, 4}})
      arrays.emplace_back(dtypeName(dtype) + "/" +
                              std::to_string(shape.size()) +
                              std::to_string(arrays.size()),
                          at::randint(0, 2, shape, at::kLong).to(dtype));
  writeNpz(folder / "a.npz", arrays);
  NpzReader reader(folder / "a.npz");
  EXPECT_EQ(reader.names().size(), arrays.size());
  for (const auto &[name, tensor, isText] : arrays) {
    at::Tensor read = reader.read(name);
    EXPECT_EQ(read.scalar_type(), tensor.scalar_type()) << name;
    EXPECT_TRUE(at::equal(read, tensor)) << name;
  }
}

TEST(Npz, WritesTheValuesOfAView) {
  TemporaryFolder folder;
  at::Tensor transposed = at::arange(6).reshape({2, 3}).t();
  writeNpz(folder / "a.npz", {{"t", transposed}});
  EXPECT_TRUE(at::equal(NpzReader(folder / "a.npz").read("t"), transposed));
}

TEST(Npz, ReadsAllHeaderVersionsAndFortranOrder) {
  for (int version : {1, 2, 3}) {
    std::string text = npy(
        "{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3), }", version);
    ArrayHeader header = parseNpyHeader(text, "a");
    EXPECT_EQ(header.shape, (std::vector<int64_t>{2, 3}));
    EXPECT_TRUE(header.fortranOrder);
    EXPECT_EQ(header.dtype, at::kFloat);
    EXPECT_EQ(header.dataOffset, text.size());
  }
}

TEST(Npz, RefusesBadHeaders) {
  auto refuse = [](const std::string &text) {
    return messageOfCall([&] { parseNpyHeader(text, "a"); });
  };
  EXPECT_EQ(refuse("short"), "array 'a' is not .npy data");
  EXPECT_EQ(
      refuse(npy("{'descr': '>f4', 'fortran_order': False, 'shape': (2,), }")),
      "array 'a' must be little endian, got dtype: >f4");
  EXPECT_EQ(
      refuse(npy("{'descr': '|O', 'fortran_order': False, 'shape': (2,), }")),
      "array 'a' has a dtype that no tensor has: |O");
  EXPECT_EQ(refuse(npy("{'descr': '<f4', 'shape': (2,), }")),
            "array 'a' has a damaged .npy header");
  EXPECT_EQ(
      refuse(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2,")),
      "array 'a' has a damaged .npy header");
  std::string cut =
      npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }");
  cut.resize(cut.size() - 10);
  EXPECT_EQ(refuse(cut), "array 'a' is cut off in its header");
}

// Every truncation and every changed byte gives an error or the same array:
// never a crash, never other data.
TEST(Npz, SurvivesDamage) {
  TemporaryFolder folder;
  at::Tensor original = at::arange(10, at::kFloat);
  writeNpz(folder / "a.npz", {{"a", original}});
  std::ifstream file(folder / "a.npz", std::ios::binary);
  std::string whole((std::istreambuf_iterator<char>(file)), {});
  int refused = 0, same = 0;
  auto tryBytes = [&](const std::string &bytes) {
    std::ofstream(folder / "b.npz", std::ios::binary) << bytes;
    try {
      at::Tensor read = NpzReader(folder / "b.npz").read("a");
      EXPECT_TRUE(at::equal(read, original));
      ++same;
    } catch (const Error &) {
      ++refused;
    }
  };
  for (size_t length = 0; length < whole.size(); ++length)
    tryBytes(whole.substr(0, length));
  EXPECT_EQ(refused, static_cast<int>(whole.size()));
  for (size_t i = 0; i < whole.size(); ++i) {
    std::string changed = whole;
    changed[i] = static_cast<char>(changed[i] ^ 0x55);
    tryBytes(changed);
  }
  EXPECT_GT(same, 0);
}

TEST(Npz, NamesTheMissingArray) {
  TemporaryFolder folder;
  writeNpz(folder / "a.npz", {{"a", at::zeros({1})}});
  EXPECT_NE(messageOfCall([&] {
              NpzReader(folder / "a.npz").read("b");
            }).find("no array 'b' in"),
            std::string::npos);
  EXPECT_NE(messageOfCall([&] {
              NpzReader(folder / "none.npz");
            }).find("cannot open"),
            std::string::npos);
}
} // namespace
