// Units are matched exactly: GB is 1e9 bytes, GiB is 2^30, Gbit is 1e9 bits.
#include "Units.h"

#include "llvm/ADT/StringExtras.h"

#include <cmath>

using namespace llvm;

namespace hethub::cluster {

namespace {
struct Unit {
  StringRef name;
  Quantity quantity;
  double factor;
};
} // namespace

static constexpr Unit units[] = {
    {"B", Quantity::Bytes, 1},
    {"kB", Quantity::Bytes, 1e3},
    {"MB", Quantity::Bytes, 1e6},
    {"GB", Quantity::Bytes, 1e9},
    {"TB", Quantity::Bytes, 1e12},
    {"KiB", Quantity::Bytes, 1024.0},
    {"MiB", Quantity::Bytes, 1048576.0},
    {"GiB", Quantity::Bytes, 1073741824.0},
    {"TiB", Quantity::Bytes, 1099511627776.0},
    {"B/s", Quantity::BytesPerSecond, 1},
    {"kB/s", Quantity::BytesPerSecond, 1e3},
    {"MB/s", Quantity::BytesPerSecond, 1e6},
    {"GB/s", Quantity::BytesPerSecond, 1e9},
    {"TB/s", Quantity::BytesPerSecond, 1e12},
    {"KiB/s", Quantity::BytesPerSecond, 1024.0},
    {"MiB/s", Quantity::BytesPerSecond, 1048576.0},
    {"GiB/s", Quantity::BytesPerSecond, 1073741824.0},
    {"TiB/s", Quantity::BytesPerSecond, 1099511627776.0},
    {"bit/s", Quantity::BytesPerSecond, 1 / 8.0},
    {"kbit/s", Quantity::BytesPerSecond, 1e3 / 8},
    {"Mbit/s", Quantity::BytesPerSecond, 1e6 / 8},
    {"Gbit/s", Quantity::BytesPerSecond, 1e9 / 8},
    {"Tbit/s", Quantity::BytesPerSecond, 1e12 / 8},
    {"s", Quantity::Seconds, 1},
    {"ms", Quantity::Seconds, 1e-3},
    {"us", Quantity::Seconds, 1e-6},
    {"ns", Quantity::Seconds, 1e-9},
    {"FLOP/s", Quantity::Flops, 1},
    {"MFLOP/s", Quantity::Flops, 1e6},
    {"GFLOP/s", Quantity::Flops, 1e9},
    {"TFLOP/s", Quantity::Flops, 1e12},
    {"PFLOP/s", Quantity::Flops, 1e15},
};

std::optional<double> parseQuantity(StringRef text, Quantity quantity) {
  text = text.trim();
  size_t end = text.find_first_of(" \t");
  if (end == StringRef::npos) {
    // "8GiB": the unit starts at the first letter that is no exponent ("1e9",
    // "2.5E-3 s").
    for (end = 0; end < text.size(); ++end) {
      bool exponent = (text[end] == 'e' || text[end] == 'E') &&
                      end + 1 < text.size() &&
                      (isDigit(text[end + 1]) || text[end + 1] == '-' ||
                       text[end + 1] == '+');
      if (isAlpha(text[end]) && !exponent)
        break;
    }
  }
  double value;
  // to_float takes "inf" and "nan": not figures.
  if (!to_float(text.take_front(end), value) || !std::isfinite(value))
    return std::nullopt;
  StringRef unit = text.drop_front(std::min(end, text.size())).trim();
  if (unit.empty())
    return value;
  for (const Unit &known : units)
    if (known.quantity == quantity && known.name == unit)
      return value * known.factor;
  return std::nullopt;
}

std::string describeUnits(Quantity quantity) {
  if (quantity == Quantity::Number)
    return "a plain number";
  std::string text = "a number, alone or with one of";
  bool first = true;
  for (const Unit &unit : units)
    if (unit.quantity == quantity) {
      text += (first ? " " : ", ") + unit.name.str();
      first = false;
    }
  return text;
}

} // namespace hethub::cluster
