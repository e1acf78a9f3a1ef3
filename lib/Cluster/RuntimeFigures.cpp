// What profile.json says beside the times of operations:
//
//   "base_bytes": 120000000, "library_bytes": 150000000,
//   "optimizer_s_per_byte": 1.5e-9,
//   "runtime": {"microbatch_s": 2e-6, "send_s": 3e-5, "send_s_per_byte": 3e-10,
//               "receive_s": 1e-5, "receive_s_per_byte": 0,
//               "latency_s": 7e-5, "bytes_per_s": 2.4e9,
//               "sum_latency_s": 2e-4, "sum_bytes_per_s": 1e9,
//               "rank_bytes": 120000000}
//
// `latency_s` and `bytes_per_s` are those of a whole message between two
// processes of the machine, sending and taking included; `sum_` those of an
// all-reduce between them.
#include "hethub/Cluster/Cluster.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"

#include <algorithm>
#include <cmath>

using namespace llvm;

namespace hethub::cluster {

namespace {
struct Measured {
  RuntimeFigures figures;
  double latency = 0, bytesPerSecond = 0; ///< 0: not measured
};
} // namespace

/// A figure that may be left out; what is wrong with it, or "".
static std::string readFigure(const json::Object &fields, StringRef name,
                              double &figure) {
  const json::Value *value = fields.get(name);
  if (!value)
    return "";
  std::optional<double> number = value->getAsNumber();
  if (!number || !std::isfinite(*number) || *number < 0)
    return ("'" + name + "' must be a number of at least 0, got: " +
            formatv("{0}", *value).str())
        .str();
  figure = *number;
  return "";
}

static Expected<Measured> readMeasured(StringRef path) {
  auto fail = [&](const Twine &message) {
    return createStringError(inconvertibleErrorCode(), path + ": " + message);
  };
  ErrorOr<std::unique_ptr<MemoryBuffer>> buffer = MemoryBuffer::getFile(path);
  if (!buffer)
    return fail("cannot read the profile: " + buffer.getError().message());
  Expected<json::Value> root = json::parse((*buffer)->getBuffer());
  if (!root)
    return fail("a profile must be JSON: " + toString(root.takeError()));
  Measured measured;
  const json::Object *object = root->getAsObject();
  if (!object)
    return fail("a profile must be an object of seconds by signature");
  double base = 0, library = 0;
  for (auto [name, figure] :
       {std::pair("base_bytes", &base), std::pair("library_bytes", &library),
        std::pair("optimizer_s_per_byte", &measured.figures.optimizerPerByte)})
    if (std::string wrong = readFigure(*object, name, *figure); !wrong.empty())
      return fail(wrong);
  measured.figures.baseBytes = int64_t(base);
  measured.figures.libraryBytes = int64_t(library);
  double rank = 0;
  const json::Value *runtime = object->get("runtime");
  if (!runtime)
    return measured;
  const json::Object *fields = runtime->getAsObject();
  if (!fields)
    return fail("'runtime' must be an object of figures");
  for (auto [name, figure] :
       {std::pair("microbatch_s", &measured.figures.microbatch),
        std::pair("send_s", &measured.figures.send),
        std::pair("send_s_per_byte", &measured.figures.sendPerByte),
        std::pair("receive_s", &measured.figures.receive),
        std::pair("receive_s_per_byte", &measured.figures.receivePerByte),
        std::pair("rank_bytes", &rank),
        std::pair("sum_latency_s", &measured.figures.sumLatency),
        std::pair("sum_bytes_per_s", &measured.figures.sumBytesPerSecond),
        std::pair("latency_s", &measured.latency),
        std::pair("bytes_per_s", &measured.bytesPerSecond)})
    if (std::string wrong = readFigure(*fields, name, *figure); !wrong.empty())
      return fail("'runtime': " + wrong);
  measured.figures.rankBytes = int64_t(rank);
  return measured;
}

Error readRuntimeFigures(Cluster &cluster) {
  std::vector<Measured> measured(cluster.types.size());
  for (size_t index = 0; index < cluster.types.size(); ++index) {
    DeviceType &type = cluster.types[index];
    if (type.profile.empty())
      continue;
    Expected<Measured> read = readMeasured(type.profile);
    if (!read)
      return read.takeError();
    measured[index] = *read;
    type.runtime = read->figures;
  }
  auto onThisMachine = [&](unsigned index) {
    return cluster.types[index].kind == "cpu" &&
           cluster.types[index].nodes == 1 &&
           measured[index].bytesPerSecond > 0;
  };
  for (unsigned a = 0; a < cluster.types.size(); ++a)
    for (unsigned b = a; b < cluster.types.size(); ++b) {
      Link link = cluster.link(a, b);
      if (link.stated || link.emulated || !onThisMachine(a) ||
          !onThisMachine(b))
        continue;
      link.latency = std::max(measured[a].latency, measured[b].latency);
      link.bandwidth =
          std::min(measured[a].bytesPerSecond, measured[b].bytesPerSecond);
      cluster.setLink(a, b, link);
    }
  return Error::success();
}

} // namespace hethub::cluster
