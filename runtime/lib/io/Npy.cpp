// The header of .npy data: magic, version, and a Python dict literal with three
// keys.
#include "hethub/runtime/DTypes.h"
#include "hethub/runtime/Error.h"
#include "hethub/runtime/Npz.h"

#include <cctype>
#include <optional>

using namespace hethub::runtime;

namespace {
struct Descriptor {
  const char *text;
  at::ScalarType dtype;
};
// Without the byte order mark. V2 is how the ml_dtypes package stores bfloat16,
// V1 its 8-bit floats but for one, which it calls f1.
constexpr Descriptor descriptors[] = {
    {"f8", at::kDouble},       {"f4", at::kFloat},
    {"f2", at::kHalf},         {"i8", at::kLong},
    {"i4", at::kInt},          {"i2", at::kShort},
    {"i1", at::kChar},         {"u1", at::kByte},
    {"u2", at::kUInt16},       {"u4", at::kUInt32},
    {"u8", at::kUInt64},       {"b1", at::kBool},
    {"V2", at::kBFloat16},     {"V1", at::kByte},
    {"c8", at::kComplexFloat}, {"c16", at::kComplexDouble},
    {"f1", at::kFloat8_e5m2},
};

/// A reader of the dict literal: skips blanks, and knows the few forms that
/// NumPy writes.
class DictReader {
public:
  DictReader(std::string_view text, const std::string &name)
      : text_(text), name_(name) {}

  bool accept(char wanted) {
    skipBlanks();
    if (position_ >= text_.size() || text_[position_] != wanted)
      return false;
    ++position_;
    return true;
  }
  void expect(char wanted) {
    if (!accept(wanted))
      damaged();
  }
  std::string string() {
    skipBlanks();
    char quote = accept('\'') ? '\'' : '"';
    if (quote == '"')
      expect('"');
    size_t end = text_.find(quote, position_);
    if (end == std::string_view::npos)
      damaged();
    std::string result(text_.substr(position_, end - position_));
    position_ = end + 1;
    return result;
  }
  bool boolean() {
    skipBlanks();
    for (bool value : {true, false}) {
      std::string_view word = value ? "True" : "False";
      if (text_.substr(position_, word.size()) == word) {
        position_ += word.size();
        return value;
      }
    }
    damaged();
  }
  std::vector<int64_t> sizes() {
    std::vector<int64_t> result;
    expect('(');
    while (!accept(')')) {
      skipBlanks();
      int64_t value = 0;
      size_t start = position_;
      while (position_ < text_.size() &&
             std::isdigit(static_cast<unsigned char>(text_[position_])) &&
             position_ - start < 18)
        value = value * 10 + (text_[position_++] - '0');
      if (position_ == start)
        damaged();
      accept('L');
      result.push_back(value);
      accept(',');
    }
    return result;
  }
  [[noreturn]] void damaged() const {
    fail("array '", name_, "' has a damaged .npy header");
  }

private:
  void skipBlanks() {
    while (position_ < text_.size() &&
           std::isspace(static_cast<unsigned char>(text_[position_])))
      ++position_;
  }
  std::string_view text_;
  const std::string &name_;
  size_t position_ = 0;
};

/// Characters of each string of an array, or nothing where it holds no strings.
std::optional<int64_t> textWidth(const std::string &text) {
  if (text.size() < 3 || text.size() > 12 || text.substr(0, 2) != "<U" ||
      text.find_first_not_of("0123456789", 2) != std::string::npos)
    return std::nullopt;
  return std::stoll(text.substr(2));
}

at::ScalarType dtypeOfDescriptor(const std::string &text,
                                 const std::string &name) {
  if (textWidth(text))
    return at::kInt;
  if (!text.empty()) {
    if (text[0] == '>')
      fail("array '", name, "' must be little endian, got dtype: ", text);
    std::string plain = text.substr(
        std::string_view("<|=").find(text[0]) == std::string_view::npos ? 0
                                                                        : 1);
    for (const Descriptor &row : descriptors)
      if (plain == row.text)
        return row.dtype;
  }
  fail("array '", name, "' has a dtype that no tensor has: ", text);
}
} // namespace

ArrayHeader hethub::runtime::parseNpyHeader(std::string_view data,
                                            const std::string &name) {
  auto byte = [&](size_t i) {
    return static_cast<size_t>(static_cast<unsigned char>(data[i]));
  };
  if (data.size() < 12 || data.substr(0, 6) != "\x93NUMPY")
    fail("array '", name, "' is not .npy data");
  size_t major = byte(6);
  if (major < 1 || major > 3)
    fail("array '", name, "' has a .npy version other than 1 to 3: ", major);
  size_t start = major == 1 ? 10 : 12;
  size_t length = byte(8) | byte(9) << 8;
  if (major > 1)
    length |= byte(10) << 16 | byte(11) << 24;
  if (length > data.size() - start)
    fail("array '", name, "' is cut off in its header");

  DictReader reader(data.substr(start, length), name);
  ArrayHeader header{at::kFloat, {}, false, false, start + length};
  std::string descriptor;
  int seen = 0;
  reader.expect('{');
  while (!reader.accept('}')) {
    std::string key = reader.string();
    reader.expect(':');
    if (key == "descr")
      descriptor = reader.string(),
      header.dtype = dtypeOfDescriptor(descriptor, name), seen |= 1;
    else if (key == "fortran_order")
      header.fortranOrder = reader.boolean(), seen |= 2;
    else if (key == "shape")
      header.shape = reader.sizes(), seen |= 4;
    else
      reader.damaged();
    reader.accept(',');
  }
  if (seen != 7)
    reader.damaged();
  if (std::optional<int64_t> width = textWidth(descriptor)) {
    if (header.fortranOrder && header.shape.size() > 1)
      fail("array '", name, "' of strings must be in C order");
    header.fortranOrder = false;
    header.isText = true;
    header.shape.push_back(*width);
  }
  return header;
}
