// constants.json.
#include "hethub/Predictor/Calibration.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>

using namespace llvm;

namespace hethub::predictor {

ArrayRef<ConstantInfo> constantInfos() {
  static const ConstantInfo infos[] = {
#define CONSTANT(member, name, unit, expected, lowest, highest, spread,        \
                 meaning)                                                      \
  {&Constants::member, name, unit, expected, lowest, highest, spread, meaning},
#include "hethub/Predictor/Constants.def"
  };
  return infos;
}

namespace {

Error fail(const Twine &message) {
  return createStringError(inconvertibleErrorCode(), message);
}

std::string text(const json::Value *value) {
  return value ? formatv("{0}", *value).str() : "nothing";
}

const json::Object *objectAt(const json::Value &value) {
  return value.getAsObject();
}

std::string bounds(const ConstantInfo &info) {
  std::string text;
  raw_string_ostream(text) << format("%g and %g", info.lowest, info.highest);
  return info.unit == "1" ? text : text + " " + info.unit.str();
}

struct Figure {
  StringRef name;
  double Machine::*member;
};

constexpr Figure figures[] = {
    {"peak_flops", &Machine::peakFlops},
    {"memory_bytes", &Machine::memoryBytes},
    {"node_bandwidth", &Machine::nodeBandwidth},
    {"network_bandwidth", &Machine::networkBandwidth},
    {"value_bytes", &Machine::valueBytes},
};

Expected<std::vector<double>> positiveNumbers(const json::Value *value,
                                              const Twine &name) {
  std::vector<double> numbers;
  if (const json::Array *array = value ? value->getAsArray() : nullptr)
    for (const json::Value &element : *array)
      numbers.push_back(element.getAsNumber().value_or(-1));
  if (numbers.empty() || !all_of(numbers, [](double number) {
        return number > 0 && std::isfinite(number);
      }))
    return fail(name + " must be a list of numbers above 0");
  return numbers;
}

Error readTable(const json::Object &machine, AllReduceTable &table) {
  const json::Object *object = machine.getObject("all_reduce");
  if (!object)
    return Error::success(); // then bandwidths decide
  Expected<std::vector<double>> bytes =
      positiveNumbers(object->get("bytes"), "machine.all_reduce.bytes");
  if (!bytes)
    return bytes.takeError();
  table.bytes = std::move(*bytes);
  if (std::adjacent_find(table.bytes.begin(), table.bytes.end(),
                         std::greater_equal<double>()) != table.bytes.end())
    return fail("machine.all_reduce.bytes must ascend");
  const json::Object *seconds = object->getObject("seconds");
  if (!seconds)
    return fail("machine.all_reduce.seconds must be an object of lists, got: " +
                text(object->get("seconds")));
  for (const auto &[key, value] : *seconds) {
    int ranks;
    std::string name = "machine.all_reduce.seconds." + StringRef(key).str();
    if (StringRef(key).getAsInteger(10, ranks) || ranks < 2)
      return fail(name + " must be named by a rank count of at least 2");
    Expected<std::vector<double>> times = positiveNumbers(&value, name);
    if (!times)
      return times.takeError();
    if (times->size() != table.bytes.size())
      return fail(name + " must have one time for each of the " +
                  Twine(table.bytes.size()) +
                  " sizes, got: " + Twine(times->size()));
    table.seconds[ranks] = std::move(*times);
  }
  return Error::success();
}

Error readMachine(const json::Object &object, Machine &machine) {
  for (const Figure &figure : figures) {
    const json::Value *value = object.get(figure.name);
    std::optional<double> number = value ? value->getAsNumber() : std::nullopt;
    if (!number || !(*number > 0) || !std::isfinite(*number))
      return fail("machine." + figure.name +
                  " must be a number above 0, got: " + text(value));
    machine.*figure.member = *number;
  }
  for (auto [name, member] :
       {std::pair<StringRef, int Machine::*>{"accelerators_per_node",
                                             &Machine::acceleratorsPerNode},
        {"vocabulary", &Machine::vocabulary}}) {
    const json::Value *value = object.get(name);
    std::optional<int64_t> number =
        value ? value->getAsInteger() : std::nullopt;
    if (!number || *number < 1 || *number > (1 << 24))
      return fail("machine." + name + " must be between 1 and " +
                  Twine(1 << 24) + ", got: " + text(value));
    machine.*member = int(*number);
  }
  std::optional<bool> checkpointing = object.getBoolean("checkpointing");
  if (!checkpointing)
    return fail("machine.checkpointing must be true or false, got: " +
                text(object.get("checkpointing")));
  machine.checkpointing = *checkpointing;
  return readTable(object, machine.allReduce);
}

} // namespace

Expected<Constants> constantsFromJSON(const json::Value &value) {
  const json::Object *object = objectAt(value);
  if (!object)
    return fail("constants must be an object of numbers, got: " + text(&value));
  Constants constants;
  for (const ConstantInfo &info : constantInfos()) {
    const json::Value *field = object->get(info.name);
    std::optional<double> number = field ? field->getAsNumber() : std::nullopt;
    if (!number || !(*number >= info.lowest && *number <= info.highest))
      return fail("constants." + info.name + " must be between " +
                  bounds(info) + ", got: " + text(field));
    constants.*info.member = *number;
  }
  for (const auto &[key, field] : *object)
    if (none_of(constantInfos(),
                [name = StringRef(key)](const ConstantInfo &info) {
                  return info.name == name;
                }))
      return fail("constants must be those of this model, got: " +
                  StringRef(key));
  return constants;
}

Expected<Calibration> calibrationFromJSON(const json::Value &value) {
  const json::Object *object = objectAt(value);
  if (!object)
    return fail("a calibration must be an object");
  Calibration calibration;
  const json::Object *machine = object->getObject("machine");
  if (!machine)
    return fail("machine must be an object, got: " +
                text(object->get("machine")));
  if (Error error = readMachine(*machine, calibration.machine))
    return error;
  const json::Value *constants = object->get("constants");
  if (!constants)
    return fail("constants must be an object of numbers, got: nothing");
  Expected<Constants> read = constantsFromJSON(*constants);
  if (!read)
    return read.takeError();
  calibration.constants = *read;
  return calibration;
}

} // namespace hethub::predictor
