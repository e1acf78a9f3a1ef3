// Strings: tensors hold numbers of one table of the process.
#include "hethub/runtime/DynamicOps.h"

#include <ATen/ATen.h>

#include <climits>
#include <clocale>
#include <cwchar>
#include <cwctype>
#include <deque>
#include <map>
#include <mutex>
#include <regex>
#include <unordered_map>

namespace hethub::ops {

namespace {

class Table {
public:
  int64_t numberOf(std::string_view text) {
    std::lock_guard lock(mutex_);
    if (auto found = numbers_.find(text); found != numbers_.end())
      return found->second;
    // A deque never moves its elements, which the keys point into.
    const std::string &kept = texts_.emplace_back(text);
    auto number = static_cast<int64_t>(texts_.size()) - 1;
    numbers_.emplace(kept, number);
    return number;
  }
  const std::string &text(int64_t number) {
    std::lock_guard lock(mutex_);
    TORCH_CHECK_VALUE(number >= 0 &&
                          number < static_cast<int64_t>(texts_.size()),
                      "no string has number ", number);
    return texts_[static_cast<size_t>(number)];
  }

private:
  std::mutex mutex_;
  std::deque<std::string> texts_;
  std::unordered_map<std::string_view, int64_t> numbers_;
};

Table &table() {
  static Table *strings = new Table; // outlives all threads
  return *strings;
}

/// The numbers of a tensor of strings, in order.
std::vector<int64_t> numbersOf(const at::Tensor &x) {
  at::Tensor wide = x.to(at::kCPU, at::kLong).contiguous();
  const int64_t *data = wide.const_data_ptr<int64_t>();
  return {data, data + wide.numel()};
}

at::Tensor tensorOf(const std::vector<int64_t> &numbers,
                    at::IntArrayRef shape) {
  return at::tensor(numbers, at::TensorOptions(at::kLong)).reshape(shape);
}

/// In Unicode, whatever the locale of the process.
std::string withCase(const std::string &text, bool upper) {
  static locale_t unicode = newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr);
  if (!unicode)
    return text;
  locale_t before = uselocale(unicode);
  std::string result;
  std::mbstate_t in{}, out{};
  for (size_t at = 0; at < text.size();) {
    wchar_t wide = 0;
    char bytes[MB_LEN_MAX];
    size_t used = std::mbrtowc(&wide, text.data() + at, text.size() - at, &in);
    if (used == 0 || used > text.size() - at) { // NUL, or no UTF-8: as it is
      result += text[at++];
      in = {};
      continue;
    }
    wchar_t changed =
        static_cast<wchar_t>(upper ? std::towupper(static_cast<wint_t>(wide))
                                   : std::towlower(static_cast<wint_t>(wide)));
    size_t made = std::wcrtomb(bytes, changed, &out);
    result.append(bytes, made == static_cast<size_t>(-1) ? 0 : made);
    at += used;
  }
  uselocale(before);
  return result;
}

std::vector<std::string> splitAtBlanks(const std::string &text,
                                       int64_t maxSplit) {
  constexpr const char *blanks = " \t\n\v\f\r";
  std::vector<std::string> parts;
  size_t at = text.find_first_not_of(blanks);
  while (at != std::string::npos) {
    if (maxSplit >= 0 && static_cast<int64_t>(parts.size()) == maxSplit) {
      size_t last = text.find_last_not_of(blanks);
      parts.push_back(text.substr(at, last + 1 - at));
      break;
    }
    size_t end = text.find_first_of(blanks, at);
    parts.push_back(text.substr(at, end - at));
    at = text.find_first_not_of(blanks, end);
  }
  return parts;
}

std::vector<std::string> splitAt(const std::string &text,
                                 std::string_view delimiter, int64_t maxSplit) {
  std::vector<std::string> parts;
  size_t at = 0;
  while (maxSplit < 0 || static_cast<int64_t>(parts.size()) < maxSplit) {
    size_t end = text.find(delimiter, at);
    if (end == std::string::npos)
      break;
    parts.push_back(text.substr(at, end - at));
    at = end + delimiter.size();
  }
  parts.push_back(text.substr(at));
  return parts;
}

} // namespace

int64_t stringNumber(std::string_view text) { return table().numberOf(text); }

const std::string &stringOf(int64_t number) { return table().text(number); }

at::Tensor strings(const std::vector<std::string> &values,
                   at::IntArrayRef shape) {
  std::vector<int64_t> numbers;
  for (const std::string &value : values)
    numbers.push_back(stringNumber(value));
  return tensorOf(numbers, shape);
}

at::Tensor string_concat(const at::Tensor &a, const at::Tensor &b) {
  std::vector<at::Tensor> both = at::broadcast_tensors({a, b});
  std::vector<int64_t> left = numbersOf(both[0]), right = numbersOf(both[1]);
  for (size_t i = 0; i < left.size(); ++i)
    left[i] = stringNumber(stringOf(left[i]) + stringOf(right[i]));
  return tensorOf(left, both[0].sizes());
}

std::tuple<at::Tensor, at::Tensor> string_split(const at::Tensor &x,
                                                std::string_view delimiter,
                                                int64_t max_split) {
  std::vector<std::vector<std::string>> all;
  std::vector<int64_t> counts;
  size_t most = 0;
  for (int64_t number : numbersOf(x)) {
    const std::string &text = stringOf(number);
    all.push_back(delimiter.empty() ? splitAtBlanks(text, max_split)
                                    : splitAt(text, delimiter, max_split));
    counts.push_back(static_cast<int64_t>(all.back().size()));
    most = std::max(most, all.back().size());
  }
  std::vector<int64_t> numbers;
  for (const std::vector<std::string> &parts : all)
    for (size_t i = 0; i < most; ++i)
      numbers.push_back(stringNumber(i < parts.size() ? parts[i] : ""));
  std::vector<int64_t> shape(x.sizes().begin(), x.sizes().end());
  shape.push_back(static_cast<int64_t>(most));
  return {tensorOf(numbers, shape), tensorOf(counts, x.sizes())};
}

at::Tensor string_normalizer(const at::Tensor &x, const at::Tensor &stopwords,
                             std::string_view case_action,
                             bool case_sensitive) {
  TORCH_CHECK_VALUE(x.dim() == 1 || (x.dim() == 2 && x.size(0) == 1),
                    "input must be [C] or [1, C]");
  std::map<std::string, bool> dropped;
  auto key = [&](const std::string &text) {
    return case_sensitive ? text : withCase(text, false);
  };
  for (int64_t number : numbersOf(stopwords))
    dropped[key(stringOf(number))] = true;
  std::vector<int64_t> kept;
  for (int64_t number : numbersOf(x)) {
    const std::string &text = stringOf(number);
    if (dropped.count(key(text)))
      continue;
    kept.push_back(case_action == "LOWER" || case_action == "UPPER"
                       ? stringNumber(withCase(text, case_action == "UPPER"))
                       : number);
  }
  if (kept.empty())
    kept.push_back(stringNumber(""));
  std::vector<int64_t> shape(static_cast<size_t>(x.dim()), 1);
  shape.back() = static_cast<int64_t>(kept.size());
  return tensorOf(kept, shape);
}

at::Tensor regex_full_match(const at::Tensor &x, std::string_view pattern) {
  // The library matches by recursion: longer texts could use up the stack.
  constexpr size_t longest = 4096;
  std::regex compiled;
  try {
    compiled.assign(pattern.begin(), pattern.end());
  } catch (const std::regex_error &error) {
    TORCH_CHECK_VALUE(false, "pattern '", pattern,
                      "' is no regular "
                      "expression: ",
                      error.what());
  }
  at::Tensor y = at::empty(x.sizes(), at::kBool);
  bool *out = y.mutable_data_ptr<bool>();
  for (int64_t number : numbersOf(x)) {
    const std::string &text = stringOf(number);
    TORCH_CHECK_VALUE(text.size() <= longest,
                      "texts to match must have at "
                      "most ",
                      longest, " bytes, got: ", text.size());
    *out++ = std::regex_match(text, compiled);
  }
  return y;
}

at::Tensor tf_idf(const at::Tensor &x, const at::Tensor &pool,
                  at::IntArrayRef starts, at::IntArrayRef indexes,
                  const OptionalTensor &weights, int64_t min_length,
                  int64_t max_length, int64_t max_skip, std::string_view mode) {
  std::vector<int64_t> words = numbersOf(pool);
  auto total = static_cast<int64_t>(words.size());
  std::map<std::vector<int64_t>, size_t> known; // n-gram to its position
  size_t count = 0;
  for (size_t n = 1; n <= starts.size(); ++n) {
    int64_t begin = starts[n - 1];
    int64_t end = n < starts.size() ? starts[n] : total;
    TORCH_CHECK_VALUE(begin >= 0 && begin <= end && end <= total,
                      "ngram_counts must be positions of the pool in order");
    auto length = static_cast<int64_t>(n);
    for (int64_t at = begin; at + length <= end; at += length) {
      if (length >= min_length && length <= max_length)
        known.emplace(std::vector<int64_t>(words.begin() + at,
                                           words.begin() + at + length),
                      count);
      ++count;
    }
  }
  TORCH_CHECK_VALUE(indexes.size() == count, "ngram_indexes must have ", count,
                    " entries, got: ", indexes.size());
  std::vector<double> scale(count, 1);
  if (weights && mode != "TF") {
    at::Tensor wide = weights->to(at::kCPU, at::kDouble).contiguous();
    TORCH_CHECK_VALUE(wide.numel() == static_cast<int64_t>(count),
                      "weights must have ", count,
                      " entries, got: ", wide.numel());
    const double *data = wide.const_data_ptr<double>();
    scale.assign(data, data + count);
  }
  int64_t width = 0;
  for (int64_t index : indexes) {
    TORCH_CHECK_VALUE(index >= 0, "an n-gram index must not be negative");
    width = std::max(width, index + 1);
  }
  TORCH_CHECK_VALUE(x.dim() == 1 || x.dim() == 2,
                    "input must be [C] or [N, C]");
  int64_t rows = x.dim() == 2 ? x.size(0) : 1, columns = x.size(-1);
  at::Tensor y = at::zeros({rows, width}, at::kFloat);
  std::vector<int64_t> values = numbersOf(x);
  for (int64_t row = 0; row < rows; ++row) {
    float *out = y.mutable_data_ptr<float>() + row * width;
    const int64_t *in = values.data() + row * columns;
    std::vector<int64_t> seen(count, 0);
    for (int64_t n = min_length; n <= max_length; ++n)
      // Words of an n-gram lie skip + 1 apart; single words know no skip.
      for (int64_t apart = 1; apart <= (n == 1 ? 1 : max_skip + 1); ++apart)
        for (int64_t at = 0; at + (n - 1) * apart < columns; ++at) {
          std::vector<int64_t> gram;
          for (int64_t i = 0; i < n; ++i)
            gram.push_back(in[at + i * apart]);
          if (auto found = known.find(gram); found != known.end())
            ++seen[found->second];
        }
    for (size_t i = 0; i < count; ++i)
      if (seen[i])
        out[indexes[i]] = static_cast<float>(
            (mode == "IDF" ? 1.0 : static_cast<double>(seen[i])) * scale[i]);
  }
  return x.dim() == 1 ? y.reshape({width}) : y;
}

} // namespace hethub::ops
