// Manifests: mapping, misalignment, copy on write, and every way in which one
// can be wrong.
#include "hethub/runtime/Weights.h"
#include "Programs.h"
#include "hethub/runtime/Error.h"
#include "weights/SafetensorsWriter.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <fstream>
#include <set>

using namespace hethub::runtime;
using hethub::runtime::test::TemporaryFolder;
using nlohmann::json;

namespace {
class Weights : public testing::Test {
protected:
  // Byte i of w.bin is i mod 251, so that a wrong offset shows.
  void SetUp() override {
    std::ofstream file(folder / "w.bin", std::ios::binary);
    for (int i = 0; i < fileBytes; ++i)
      file.put(static_cast<char>(i % 251));
  }
  json entry(int64_t offset, int64_t length, std::vector<int64_t> shape,
             const std::string &dtype = "U8") {
    return {{"name", "w"},      {"file", "w.bin"}, {"offset", offset},
            {"length", length}, {"dtype", dtype},  {"shape", shape}};
  }
  std::string manifest(const json &parameters) {
    std::ofstream(folder / "weights.json") << json{{"parameters", parameters}};
    return folder / "weights.json";
  }
  std::string refusal(const std::string &path) {
    try {
      WeightsFile file(path);
    } catch (const Error &error) {
      return error.what();
    }
    return "no error";
  }
  bool refuses(const json &parameter, const std::string &part) {
    std::string message = refusal(manifest(json::array({parameter})));
    EXPECT_NE(message.find(part), std::string::npos) << message;
    return message.find(part) != std::string::npos;
  }
  static constexpr int fileBytes = 10000;
  TemporaryFolder folder;
};

TEST_F(Weights, MapsAlignedAndCopiesMisaligned) {
  for (int64_t offset : {0, 4096, 8192, 1, 5, 4097}) {
    WeightsFile file(manifest(json::array({entry(offset, 16, {2, 2}, "F32")})));
    at::Tensor w = file.get("w", at::kFloat, {2, 2});
    auto *bytes = static_cast<const unsigned char *>(w.const_data_ptr());
    for (int i = 0; i < 16; ++i)
      EXPECT_EQ(bytes[i], (offset + i) % 251);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(bytes) % 4, 0u);
  }
}

TEST_F(Weights, TensorOutlivesTheManifestAndWritesStayPrivate) {
  at::Tensor w;
  {
    WeightsFile file(manifest(json::array({entry(4096, 8, {8})})));
    w = file.get("w", at::kByte, {8});
  }
  w.fill_(7);
  EXPECT_EQ(w.sum().item<int64_t>(), 56);
  WeightsFile again(folder / "weights.json");
  EXPECT_EQ(again.get("w", at::kByte, {8})[0].item<int64_t>(), 4096 % 251);
}

TEST_F(Weights, EmptyParameterNeedsNoBytes) {
  WeightsFile file(manifest(json::array({entry(fileBytes, 0, {0, 3}, "F32")})));
  EXPECT_EQ(file.get("w", at::kFloat, {0, 3}).numel(), 0);
}

TEST_F(Weights, RefusesBadEntries) {
  constexpr int64_t huge = INT64_MAX;
  EXPECT_TRUE(refuses(entry(fileBytes - 4, 8, {8}),
                      "parameter 'w' reaches past the end of"));
  EXPECT_TRUE(refuses(entry(huge, 8, {8}), "reaches past the end"));
  EXPECT_TRUE(refuses(entry(-1, 8, {8}), "reaches past the end"));
  EXPECT_TRUE(refuses(entry(huge - 4, huge, {huge}), "reaches past the end"));
  EXPECT_TRUE(
      refuses(entry(0, 7, {8}), "of type 8xuint8 needs 8 bytes, got: 7"));
  EXPECT_TRUE(
      refuses(entry(0, 8, {huge, huge}, "F32"), "more bytes than fit 63 bits"));
  EXPECT_TRUE(refuses(entry(0, 8, {-8}), "sizes must not be negative"));
  EXPECT_TRUE(refuses(entry(0, 8, {8}, "F33"), "has an unknown dtype: F33"));
  json elsewhere = entry(0, 8, {8});
  elsewhere["file"] = "none.bin";
  EXPECT_TRUE(refuses(elsewhere, "parameter 'w' in"));
  EXPECT_TRUE(refuses(elsewhere, "No such file"));
  json incomplete = entry(0, 8, {8});
  incomplete.erase("offset");
  EXPECT_TRUE(refuses(incomplete, "not a weights manifest"));
  EXPECT_NE(refusal(manifest(json::array({entry(0, 8, {8}), entry(8, 8, {8})})))
                .find("'w' occurs twice"),
            std::string::npos);
  EXPECT_NE(refusal(folder / "none.json").find("cannot open"),
            std::string::npos);
}

TEST_F(Weights, GetNamesWhatIsMissingOrDifferent) {
  WeightsFile file(manifest(json::array({entry(0, 8, {8})})));
  EXPECT_THROW(file.get("v", at::kByte, {8}), Error);
  EXPECT_THROW(file.get("w", at::kByte, {2, 4}), Error);
  EXPECT_THROW(file.get("w", at::kChar, {8}), Error);
}

TEST_F(Weights, ReadsSafetensors) {
  std::string header =
      R"({"__metadata__":{"a":"b"},"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})";
  header.resize((header.size() + 7) / 8 * 8, ' ');
  uint64_t length = header.size();
  float values[] = {1.5f, -2.0f};
  std::ofstream(folder / "w.safetensors", std::ios::binary)
      .write(reinterpret_cast<const char *>(&length), 8)
      .write(header.data(), static_cast<std::streamsize>(length))
      .write(reinterpret_cast<const char *>(values), 8);
  WeightsFile file(folder / "w.safetensors");
  EXPECT_TRUE(
      at::equal(file.get("w", at::kFloat, {2}), at::tensor({1.5f, -2.0f})));
  std::filesystem::resize_file(folder / "w.safetensors", 8 + length + 4);
  EXPECT_NE(refusal(folder / "w.safetensors").find("reaches past the end"),
            std::string::npos);
  std::filesystem::resize_file(folder / "w.safetensors", 5);
  EXPECT_NE(refusal(folder / "w.safetensors").find("not a safetensors file"),
            std::string::npos);
}

TEST_F(Weights, WritesSafetensorsThatCanBeMapped) {
  at::Tensor strided =
      at::arange(12, at::kDouble).reshape({3, 4}).t(); // not contiguous
  NamedTensors tensors = {{"bytes", at::arange(5, at::kByte)},
                          {"flags", at::tensor({1, 0, 1}).to(at::kBool)},
                          {"half/α", at::randn({3}).to(at::kBFloat16)},
                          {"none", at::empty({0, 4})},
                          {"scalar", at::scalar_tensor(7, at::kLong)},
                          {"strided", strided}};
  std::string path = folder / "out.safetensors";
  writeSafetensors(path, tensors, {{"format", "pt"}});
  WeightsFile file(path);
  EXPECT_EQ(file.names().size(), tensors.size());
  for (const auto &[name, tensor] : tensors)
    EXPECT_TRUE(
        at::equal(file.get(name, tensor.scalar_type(), tensor.sizes()), tensor))
        << name;

  // The format's own rules: header padded to 8, no gaps, aligned, nothing
  // behind the end.
  std::ifstream raw(path, std::ios::binary);
  uint64_t length = 0;
  raw.read(reinterpret_cast<char *>(&length), 8);
  EXPECT_EQ(length % 8, 0u);
  std::string text(length, '\0');
  raw.read(text.data(), static_cast<std::streamsize>(length));
  EXPECT_EQ(text[0], '{');
  json header = json::parse(text);
  EXPECT_EQ(header["__metadata__"]["format"], "pt");
  std::set<std::pair<int64_t, int64_t>> ranges;
  for (const auto &[name, tensor] : tensors) {
    const json &offsets = header[name]["data_offsets"];
    ranges.emplace(offsets[0], offsets[1]);
    EXPECT_EQ(offsets[0].get<size_t>() % tensor.element_size(), 0u) << name;
  }
  int64_t end = 0;
  for (const auto &[begin, rangeEnd] : ranges) {
    EXPECT_EQ(begin, end);
    end = rangeEnd;
  }
  EXPECT_EQ(std::filesystem::file_size(path), 8 + length + end);

  tensors.push_back(tensors[0]);
  EXPECT_THROW(writeSafetensors(folder / "twice.safetensors", tensors), Error);
  EXPECT_FALSE(std::filesystem::exists(folder / "twice.safetensors"));
}

TEST(WeightsConstants, HaveTheirTypeAndCountTheirValues) {
  EXPECT_TRUE(at::equal(constantInts({2}, at::kInt, {3, -1}),
                        at::tensor({3, -1}, at::kInt)));
  EXPECT_TRUE(at::equal(constantFloats({}, at::kFloat, {0.5}),
                        at::scalar_tensor(0.5, at::kFloat)));
  EXPECT_TRUE(
      at::equal(constantBytes({2}, at::kBool, std::string_view("\1\0", 2)),
                at::tensor({1, 0}).to(at::kBool)));
  EXPECT_THROW(constantInts({2}, at::kInt, {3}), Error);
  EXPECT_THROW(constantBytes({2}, at::kInt, "abc"), Error);
}
} // namespace
