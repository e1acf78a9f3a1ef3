// Reads cluster.yaml. Each field is checked where it is read; the first thing
// that is wrong is the message.
#include "Units.h"
#include "YamlTree.h"
#include "hethub/Cluster/Accelerators.h"
#include "hethub/Cluster/Cluster.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

#include <cmath>

using namespace llvm;

namespace hethub::cluster {
namespace {

const std::vector<StringRef> dtypes = {"float64", "float32",  "tensorfloat32",
                                       "float16", "bfloat16", "int8"};
const std::vector<StringRef> kinds = {"cpu", "cuda", "rocm", "xpu",
                                      "hpu", "npu",  "mps"};
constexpr double maxCount = 1e6;

// Copies between device and host memory where neither file nor accelerator
// table says: 0.8 of PCIe 3.0 x16.
constexpr double defaultHostBandwidth = 12.8e9;

struct Parser {
  std::string fileName;
  std::string message; // the first error

  /// Reports and returns false, so that checks read `return fail(...)`.
  bool fail(const YamlValue &value, const Twine &what) {
    if (message.empty())
      message =
          (fileName + ":" + Twine(value.line ? value.line : 1) + ": " + what)
              .str();
    return false;
  }

  static std::string got(const YamlValue &value) {
    switch (value.kind) {
    case YamlValue::Null:
      return "nothing";
    case YamlValue::Scalar:
      return value.scalar;
    case YamlValue::Sequence:
      return "a list";
    case YamlValue::Mapping:
      return "a mapping";
    }
    return "";
  }

  bool checkKeys(const YamlValue &mapping, const Twine &where,
                 ArrayRef<StringRef> known) {
    for (const auto &[key, value] : mapping.fields)
      if (!is_contained(known, key))
        return fail(value, where + ": fields must be among " +
                               join(known, ", ") + ", got: " + key);
    return true;
  }

  bool readText(const YamlValue &value, const Twine &where, std::string &text) {
    if (value.kind != YamlValue::Scalar || value.scalar.empty())
      return fail(value, where + " must be a word, got: " + got(value));
    text = value.scalar;
    return true;
  }

  /// A figure greater than zero, or with `zero` at least zero.
  bool readFigure(const YamlValue &value, const Twine &where, Quantity quantity,
                  double &figure, bool zero = false) {
    std::optional<double> parsed;
    if (value.kind == YamlValue::Scalar)
      parsed = parseQuantity(value.scalar, quantity);
    if (!parsed)
      return fail(value, where + " must be " + describeUnits(quantity) +
                             ", got: " + got(value));
    if (zero ? *parsed < 0 : *parsed <= 0)
      return fail(value, where + " must be " +
                             (zero ? "at least 0" : "greater than 0") +
                             ", got: " + got(value));
    figure = *parsed;
    return true;
  }

  bool readBytes(const YamlValue &value, const Twine &where, int64_t &bytes) {
    double figure = 0;
    if (!readFigure(value, where, Quantity::Bytes, figure))
      return false;
    if (figure < 1 || figure >= 9e18)
      return fail(
          value,
          where + " must be between 1 byte and 9e18 bytes, got: " + got(value));
    bytes = int64_t(std::llround(figure));
    return true;
  }

  bool readCount(const YamlValue &value, const Twine &where, unsigned &count) {
    double figure = 0;
    if (!readFigure(value, where, Quantity::Number, figure, /*zero=*/true))
      return false;
    if (figure < 1 || figure > maxCount || figure != std::floor(figure))
      return fail(value,
                  where + " must be a whole number from 1 to 1000000, got: " +
                      got(value));
    count = unsigned(figure);
    return true;
  }

  bool readPeak(const YamlValue &value, const Twine &where, DeviceType &type) {
    double figure = 0;
    if (value.kind != YamlValue::Mapping) {
      if (!readFigure(value, where, Quantity::Flops, figure))
        return false;
      type.peakFlops["float32"] = figure;
      return true;
    }
    if (!checkKeys(value, where, dtypes))
      return false;
    for (const auto &[dtype, peak] : value.fields) {
      if (!readFigure(peak, where + "." + dtype, Quantity::Flops, figure))
        return false;
      type.peakFlops[dtype] = figure;
    }
    return true;
  }

  void fillFrom(const Accelerator &accelerator, DeviceType &type) {
    type.kind = accelerator.kind.str();
    type.memoryBytes = int64_t(accelerator.memoryGiB * double(1 << 30));
    type.memoryBandwidth = accelerator.memoryGBps * 1e9;
    type.hostBandwidth = accelerator.hostGBps * 1e9;
    const std::pair<StringRef, double> peaks[] = {
        {"float32", accelerator.float32Tflops},
        {"tensorfloat32", accelerator.tensorFloat32Tflops},
        {"float16", accelerator.float16Tflops},
        {"bfloat16", accelerator.bfloat16Tflops}};
    for (auto [dtype, tflops] : peaks)
      if (tflops > 0)
        type.peakFlops[dtype.str()] = tflops * 1e12;
  }

  bool readDevice(const YamlValue &value, DeviceType &type) {
    if (value.kind != YamlValue::Mapping)
      return fail(value, "a device must be a mapping such as {name: new, "
                         "accelerator: A100-80GB}, got: " +
                             got(value));
    const YamlValue *name = value.field("name");
    if (!name)
      return fail(value, "a device must have a name");
    if (!readText(*name, "device name", type.name))
      return false;
    std::string where = "device '" + type.name + "'";
    if (!checkKeys(value, where,
                   {"name", "accelerator", "kind", "count", "nodes", "memory",
                    "peak", "memory_bandwidth", "host_bandwidth",
                    "launch_overhead", "profile", "emulate",
                    "training_precision"}))
      return false;
    auto at = [&](StringRef field) { return where + ": " + field.str(); };

    if (const YamlValue *field = value.field("accelerator")) {
      if (!readText(*field, at("accelerator"), type.accelerator))
        return false;
      const Accelerator *accelerator = findAccelerator(type.accelerator);
      if (!accelerator)
        return fail(*field, at("accelerator") + " must be a known one, got: " +
                                type.accelerator + " (" +
                                suggestAccelerators(type.accelerator) + ")");
      fillFrom(*accelerator, type);
    }
    if (const YamlValue *field = value.field("kind")) {
      std::string kind;
      if (!readText(*field, at("kind"), kind))
        return false;
      if (!is_contained(kinds, kind))
        return fail(*field, at("kind") + " must be among " + join(kinds, ", ") +
                                ", got: " + kind);
      if (!type.accelerator.empty() && kind != type.kind)
        return fail(*field, at("kind") + " must be " + type.kind +
                                ", which accelerator " + type.accelerator +
                                " is, got: " + kind);
      type.kind = kind;
    }
    if (type.kind.empty())
      return fail(value, where + " must have an accelerator or a kind");

    if (const YamlValue *field = value.field("count"))
      if (!readCount(*field, at("count"), type.count))
        return false;
    if (const YamlValue *field = value.field("nodes")) {
      if (!readCount(*field, at("nodes"), type.nodes))
        return false;
      if (type.nodes > type.count)
        return fail(*field, at("nodes") + " must be at most count (" +
                                Twine(type.count) + "), got: " + got(*field));
    }
    if (const YamlValue *field = value.field("memory"))
      if (!readBytes(*field, at("memory"), type.memoryBytes))
        return false;
    if (const YamlValue *field = value.field("peak"))
      if (!readPeak(*field, at("peak"), type))
        return false;
    if (const YamlValue *field = value.field("memory_bandwidth"))
      if (!readFigure(*field, at("memory_bandwidth"), Quantity::BytesPerSecond,
                      type.memoryBandwidth))
        return false;
    if (type.kind != "cpu" && type.hostBandwidth == 0)
      type.hostBandwidth = defaultHostBandwidth;
    if (const YamlValue *field = value.field("host_bandwidth"))
      if (!readFigure(*field, at("host_bandwidth"), Quantity::BytesPerSecond,
                      type.hostBandwidth))
        return false;
    // A GPU kernel costs some microseconds to start; a call of a CPU operator
    // through LibTorch about one.
    type.launchOverhead = type.kind == "cpu" ? 1e-6 : 5e-6;
    if (const YamlValue *field = value.field("launch_overhead"))
      if (!readFigure(*field, at("launch_overhead"), Quantity::Seconds,
                      type.launchOverhead, /*zero=*/true))
        return false;
    if (const YamlValue *field = value.field("profile"))
      if (!readText(*field, at("profile"), type.profile))
        return false;
    if (const YamlValue *field = value.field("training_precision")) {
      std::string precision;
      if (!readText(*field, at("training_precision"), precision))
        return false;
      if (precision != "float32" && precision != "bfloat16")
        return fail(*field,
                    at("training_precision") +
                        " must be float32 or bfloat16, got: " + precision);
      if (precision != "float32")
        type.trainingPrecision = precision;
    }
    if (const YamlValue *field = value.field("emulate")) {
      const YamlValue *slowdown = field->field("slowdown");
      if (field->kind != YamlValue::Mapping || !slowdown)
        return fail(*field,
                    at("emulate") +
                        " must be a mapping such as {slowdown: 2.5}, got: " +
                        got(*field));
      if (!checkKeys(*field, at("emulate"), {"slowdown"}) ||
          !readFigure(*slowdown, at("emulate.slowdown"), Quantity::Number,
                      type.emulatedSlowdown))
        return false;
      if (type.emulatedSlowdown < 1)
        return fail(*slowdown,
                    at("emulate.slowdown") +
                        " must be at least 1, got: " + got(*slowdown));
    }
    // What nothing states and nothing can measure here.
    if (type.kind != "cpu") {
      if (type.memoryBytes == 0)
        return fail(value, at("memory") + " must be stated for kind " +
                               type.kind + " without an accelerator");
      if (type.peakFlops.empty())
        return fail(value, at("peak") + " must be stated for kind " +
                               type.kind + " without an accelerator");
      if (type.memoryBandwidth == 0)
        return fail(value, at("memory_bandwidth") +
                               " must be stated for kind " + type.kind +
                               " without an accelerator");
    }
    return true;
  }

  bool readEnd(const YamlValue &value, const Cluster &cluster,
               const Twine &where, unsigned &index) {
    std::string name;
    if (!readText(value, where, name))
      return false;
    std::optional<unsigned> found = cluster.find(name);
    if (!found) {
      std::vector<std::string> names;
      for (const DeviceType &type : cluster.types)
        names.push_back(type.name);
      return fail(value, where + " must name a device (" + join(names, ", ") +
                             "), got: " + name);
    }
    index = *found;
    return true;
  }

  bool readLink(const YamlValue &value, Cluster &cluster) {
    if (value.kind != YamlValue::Mapping)
      return fail(value, "a link must be a mapping such as {between: [old, "
                         "new], bandwidth: 25 Gbit/s}, got: " +
                             got(value));
    const YamlValue *between = value.field("between"),
                    *within = value.field("within");
    if (bool(between) == bool(within))
      return fail(
          value, "a link must have either between: [a, b] or within: a, got: " +
                     Twine(between ? "both" : "neither"));
    unsigned a, b;
    std::string where;
    if (between) {
      if (between->kind != YamlValue::Sequence || between->items.size() != 2)
        return fail(*between, "link: between must list two devices, got: " +
                                  (between->kind == YamlValue::Sequence
                                       ? std::to_string(between->items.size())
                                       : got(*between)));
      if (!readEnd(between->items[0], cluster, "link: between", a) ||
          !readEnd(between->items[1], cluster, "link: between", b))
        return false;
      if (a == b)
        return fail(*between, "link: between must name two different devices "
                              "(use within: for one), got: " +
                                  cluster.types[a].name + " twice");
      where = "link between '" + cluster.types[a].name + "' and '" +
              cluster.types[b].name + "'";
    } else {
      if (!readEnd(*within, cluster, "link: within", a))
        return false;
      b = a;
      where = "link within '" + cluster.types[a].name + "'";
    }
    if (!checkKeys(value, where,
                   {"between", "within", "bandwidth", "latency", "via",
                    "emulate", "profile"}))
      return false;
    Link link = cluster.link(a, b);
    if (link.stated)
      return fail(value, where + " must be stated once, got: twice");
    link.stated = true;
    if (const YamlValue *field = value.field("profile")) {
      if (!readText(*field, where + ": profile", link.profile))
        return false;
      for (StringRef figure : {"bandwidth", "latency"})
        if (const YamlValue *stated = value.field(figure))
          return fail(*stated, where + ": " + figure +
                                   " must be stated once, got: also by "
                                   "profile");
    }
    if (const YamlValue *field = value.field("bandwidth"))
      if (!readFigure(*field, where + ": bandwidth", Quantity::BytesPerSecond,
                      link.bandwidth))
        return false;
    if (const YamlValue *field = value.field("latency"))
      if (!readFigure(*field, where + ": latency", Quantity::Seconds,
                      link.latency, /*zero=*/true))
        return false;
    if (const YamlValue *field = value.field("via")) {
      std::string via;
      if (!readText(*field, where + ": via", via))
        return false;
      if (via != "host" && via != "direct")
        return fail(*field,
                    where + ": via must be host or direct, got: " + via);
      link.viaHost = via == "host";
      link.routed = true;
    }
    if (const YamlValue *field = value.field("emulate")) {
      if (field->kind == YamlValue::Mapping) {
        link.emulated = true;
        if (!checkKeys(*field, where + ": emulate", {"bandwidth", "latency"}))
          return false;
        if (!link.profile.empty())
          return fail(*field, where + ": emulate must be true or false beside "
                                      "profile, got: a mapping");
        for (const auto &[key, figure] : field->fields)
          if (value.field(key))
            return fail(figure,
                        where + ": " + key +
                            " must be stated once, got: also under emulate");
        if (const YamlValue *figure = field->field("bandwidth"))
          if (!readFigure(*figure, where + ": emulate.bandwidth",
                          Quantity::BytesPerSecond, link.bandwidth))
            return false;
        if (const YamlValue *figure = field->field("latency"))
          if (!readFigure(*figure, where + ": emulate.latency",
                          Quantity::Seconds, link.latency, /*zero=*/true))
            return false;
      } else if (field->kind == YamlValue::Scalar &&
                 (field->scalar == "true" || field->scalar == "false")) {
        link.emulated = field->scalar == "true";
      } else {
        return fail(*field, where +
                                ": emulate must be true, false or a mapping "
                                "with bandwidth and latency, got: " +
                                got(*field));
      }
    }
    cluster.setLink(a, b, link);
    return true;
  }

  bool readCluster(const YamlValue &root, Cluster &cluster) {
    if (root.kind != YamlValue::Mapping)
      return fail(root,
                  "a cluster must be a mapping with devices and links, got: " +
                      got(root));
    if (!checkKeys(root, "cluster", {"devices", "links"}))
      return false;
    const YamlValue *devices = root.field("devices");
    if (!devices)
      return fail(root, "a cluster must have devices");
    if (devices->kind != YamlValue::Sequence || devices->items.empty())
      return fail(
          *devices,
          "devices must be a list of at least one device, got: " +
              (devices->kind == YamlValue::Sequence ? "none" : got(*devices)));
    for (const YamlValue &item : devices->items) {
      DeviceType type;
      if (!readDevice(item, type))
        return false;
      if (cluster.find(type.name))
        return fail(*item.field("name"),
                    "device names must be unique, got twice: " + type.name);
      cluster.types.push_back(std::move(type));
    }
    const YamlValue *links = root.field("links");
    if (!links || links->kind == YamlValue::Null)
      return true;
    if (links->kind != YamlValue::Sequence)
      return fail(*links, "links must be a list, got: " + got(*links));
    for (const YamlValue &item : links->items)
      if (!readLink(item, cluster))
        return false;
    return true;
  }
};

} // namespace

Expected<Cluster> parseCluster(StringRef text, StringRef fileName) {
  Expected<YamlValue> root = parseYaml(text, fileName);
  if (!root)
    return root.takeError();
  Parser parser;
  parser.fileName = fileName.str();
  Cluster cluster;
  if (!parser.readCluster(*root, cluster))
    return createStringError(inconvertibleErrorCode(), "%s",
                             parser.message.c_str());
  return cluster;
}

Expected<Cluster> readCluster(StringRef path) {
  auto buffer = MemoryBuffer::getFile(path, /*IsText=*/true);
  if (!buffer)
    return createStringError(
        buffer.getError(), "cannot read cluster file %s: %s",
        path.str().c_str(), buffer.getError().message().c_str());
  Expected<Cluster> cluster = parseCluster((*buffer)->getBuffer(), path);
  if (!cluster)
    return cluster;
  // A profile stands beside the cluster file that names it.
  auto find = [&](std::string &profile) {
    if (profile.empty() || !sys::path::is_relative(profile))
      return;
    SmallString<128> beside(sys::path::parent_path(path));
    sys::path::append(beside, profile);
    profile = beside.str().str();
  };
  for (DeviceType &type : cluster->types)
    find(type.profile);
  for (unsigned a = 0; a < cluster->types.size(); ++a)
    for (unsigned b = a; b < cluster->types.size(); ++b)
      if (Link link = cluster->link(a, b); !link.profile.empty()) {
        find(link.profile);
        cluster->setLink(a, b, link);
      }
  if (Error error = readLinkProfiles(*cluster))
    return error;
  return cluster;
}

} // namespace hethub::cluster
