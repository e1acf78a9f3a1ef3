// UTF-8 on our side, UTF-32 in files.
#include "io/Text.h"
#include "hethub/runtime/DynamicOps.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

#include <cstring>

using namespace hethub;

namespace {
constexpr uint32_t replacement = 0xfffd; ///< stands for what is no character

void append(std::string &text, uint32_t point) {
  if (point >= 0x110000 || (point >= 0xd800 && point < 0xe000))
    point = replacement;
  if (point < 0x80) {
    text += static_cast<char>(point);
    return;
  }
  int more = point < 0x800 ? 1 : point < 0x10000 ? 2 : 3;
  constexpr uint32_t lead[] = {0, 0xc0, 0xe0, 0xf0};
  text += static_cast<char>(lead[more] | point >> (6 * more));
  for (int i = more - 1; i >= 0; --i)
    text += static_cast<char>(0x80 | (point >> (6 * i) & 0x3f));
}

std::vector<int32_t> pointsOf(const std::string &text) {
  std::vector<int32_t> points;
  for (size_t at = 0; at < text.size();) {
    auto byte = static_cast<unsigned char>(text[at]);
    size_t more = byte < 0x80             ? 0
                  : (byte & 0xe0) == 0xc0 ? 1
                  : (byte & 0xf0) == 0xe0 ? 2
                  : (byte & 0xf8) == 0xf0 ? 3
                                          : 4;
    uint32_t point = more == 0 ? byte : byte & (0x3fu >> more);
    bool whole = more < 4 && at + more < text.size();
    for (size_t i = 1; whole && i <= more; ++i) {
      auto next = static_cast<unsigned char>(text[at + i]);
      whole = (next & 0xc0) == 0x80;
      point = point << 6 | (next & 0x3f);
    }
    points.push_back(static_cast<int32_t>(whole ? point : replacement));
    at += whole ? more + 1 : 1;
  }
  return points;
}
} // namespace

at::Tensor runtime::textOf(const at::Tensor &characters) {
  at::IntArrayRef shape = characters.sizes().slice(0, characters.dim() - 1);
  int64_t width = characters.size(-1);
  at::Tensor numbers = at::empty(shape, at::kLong);
  auto *out = numbers.mutable_data_ptr<int64_t>();
  const auto *in = characters.const_data_ptr<int32_t>();
  for (int64_t i = 0; i < numbers.numel(); ++i) {
    // Zeros at the end fill up.
    int64_t length = width;
    while (length > 0 && in[i * width + length - 1] == 0)
      --length;
    std::string text;
    for (int64_t at = 0; at < length; ++at)
      append(text, static_cast<uint32_t>(in[i * width + at]));
    out[i] = ops::stringNumber(text);
  }
  return numbers;
}

at::Tensor runtime::charactersOf(const at::Tensor &numbers) {
  at::Tensor wide = numbers.cpu().contiguous();
  const auto *in = wide.const_data_ptr<int64_t>();
  std::vector<std::vector<int32_t>> all;
  size_t width = 1; // NumPy has no strings of no characters
  for (int64_t i = 0; i < wide.numel(); ++i) {
    all.push_back(pointsOf(ops::stringOf(in[i])));
    width = std::max(width, all.back().size());
  }
  std::vector<int64_t> shape = wide.sizes().vec();
  shape.push_back(static_cast<int64_t>(width));
  at::Tensor characters = at::zeros(shape, at::kInt);
  auto *out = characters.mutable_data_ptr<int32_t>();
  for (size_t i = 0; i < all.size(); ++i)
    if (!all[i].empty())
      std::memcpy(out + i * width, all[i].data(),
                  all[i].size() * sizeof(int32_t));
  return characters;
}
