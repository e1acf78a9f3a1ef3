// What `hethub profile --links` says of the links of a machine:
//
//   {"links": [{"kinds": ["cpu", "cuda"],
//               "routes": [{"via": "host", "chunk_bytes": 1048576,
//                           "latency_s": 3e-5, "bytes_per_s": 6e9}]},
//              {"kinds": ["cuda", "cuda"], "skipped": "no second GPU"}]}
//
// Figures are those of a whole message between two ranks, with the copies
// between device and host memory.
#include "hethub/Cluster/Cluster.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"

#include <algorithm>
#include <cmath>

using namespace llvm;

namespace hethub::cluster {
namespace {

struct MeasuredLink {
  std::vector<std::string> kinds; ///< of both ends, sorted
  std::vector<Route> routes;
  std::string skipped; ///< why there are none
};

/// Reads one file; `message` is the first thing that is wrong.
struct Reader {
  std::string message;

  bool fail(const Twine &what) {
    if (message.empty())
      message = what.str();
    return false;
  }
  static std::string got(const json::Value *value) {
    return value ? formatv("{0}", *value).str() : "nothing";
  }

  bool readFigure(const json::Object &fields, StringRef name, bool zero,
                  double &figure) {
    const json::Value *value = fields.get(name);
    std::optional<double> number = value ? value->getAsNumber() : std::nullopt;
    if (!number || !std::isfinite(*number) ||
        (zero ? *number < 0 : *number <= 0))
      return fail("'" + name + "' of a route must be a number " +
                  (zero ? "of at least 0" : "greater than 0") +
                  ", got: " + got(value));
    figure = *number;
    return true;
  }

  bool readRoute(const json::Value &value, Route &route) {
    const json::Object *fields = value.getAsObject();
    if (!fields)
      return fail("a route must be an object, got: " + got(&value));
    std::optional<StringRef> via = fields->getString("via");
    if (!via || (*via != "host" && *via != "direct"))
      return fail("'via' of a route must be host or direct, got: " +
                  got(fields->get("via")));
    route.viaHost = *via == "host";
    double chunk = 0;
    if (fields->get("chunk_bytes") &&
        !readFigure(*fields, "chunk_bytes", /*zero=*/true, chunk))
      return false;
    // More than any message, and what a double holds exactly.
    constexpr double most = double(int64_t(1) << 50);
    if (chunk != std::floor(chunk) || chunk > most)
      return fail("'chunk_bytes' of a route must be a whole number, got: " +
                  got(fields->get("chunk_bytes")));
    route.chunkBytes = int64_t(chunk);
    return readFigure(*fields, "latency_s", /*zero=*/true, route.latency) &&
           readFigure(*fields, "bytes_per_s", /*zero=*/false, route.bandwidth);
  }

  bool readLink(const json::Value &value, MeasuredLink &link) {
    const json::Object *fields = value.getAsObject();
    const json::Array *kinds = fields ? fields->getArray("kinds") : nullptr;
    if (!kinds || kinds->size() != 2 ||
        !all_of(*kinds, [](const json::Value &kind) {
          return kind.getAsString().has_value();
        }))
      return fail("a link must have the 'kinds' of its two ends, got: " +
                  got(&value));
    for (const json::Value &kind : *kinds)
      link.kinds.push_back(kind.getAsString()->str());
    llvm::sort(link.kinds);
    link.skipped = fields->getString("skipped").value_or("").str();
    if (const json::Value *routes = fields->get("routes")) {
      if (!routes->getAsArray())
        return fail("'routes' of a link must be a list, got: " + got(routes));
      for (const json::Value &route : *routes->getAsArray())
        if (!readRoute(route, link.routes.emplace_back()))
          return false;
    }
    return true;
  }

  bool read(StringRef path, std::vector<MeasuredLink> &links) {
    ErrorOr<std::unique_ptr<MemoryBuffer>> buffer = MemoryBuffer::getFile(path);
    if (!buffer)
      return fail("cannot read the links: " + buffer.getError().message() +
                  " (hethub profile --links writes them)");
    Expected<json::Value> root = json::parse((*buffer)->getBuffer());
    if (!root)
      return fail("measured links must be JSON: " + toString(root.takeError()));
    const json::Object *object = root->getAsObject();
    const json::Array *list = object ? object->getArray("links") : nullptr;
    if (!list)
      return fail("measured links must be an object with a list 'links' "
                  "(hethub profile --links)");
    for (const json::Value &value : *list)
      if (!readLink(value, links.emplace_back()))
        return false;
    return true;
  }

  /// The routes of one pair of kinds; by `via` where the cluster file says so.
  bool choose(ArrayRef<MeasuredLink> links, std::vector<std::string> kinds,
              Link &link) {
    llvm::sort(kinds);
    std::string between = "between " + kinds[0] + " and " + kinds[1];
    const auto *found = find_if(
        links, [&](const MeasuredLink &each) { return each.kinds == kinds; });
    if (found == links.end())
      return fail("there must be routes " + between + ", got none");
    if (found->routes.empty())
      return fail("there must be routes " + between + ", got none" +
                  (found->skipped.empty() ? "" : ": " + found->skipped));
    for (const Route &route : found->routes)
      if (!link.routed || route.viaHost == link.viaHost)
        link.routes.push_back(route);
    if (link.routes.empty())
      return fail("there must be routes " + between + " via " +
                  (link.viaHost ? "host, got: direct" : "direct, got: host") +
                  " only");
    return true;
  }
};

} // namespace

Error readLinkProfiles(Cluster &cluster) {
  std::map<std::string, std::vector<MeasuredLink>> files;
  for (unsigned a = 0; a < cluster.types.size(); ++a)
    for (unsigned b = a; b < cluster.types.size(); ++b) {
      Link link = cluster.link(a, b);
      if (link.profile.empty())
        continue;
      Reader reader;
      auto [file, isNew] = files.try_emplace(link.profile);
      if ((isNew && !reader.read(link.profile, file->second)) ||
          !reader.choose(file->second,
                         {cluster.types[a].kind, cluster.types[b].kind}, link))
        return createStringError(inconvertibleErrorCode(),
                                 link.profile + ": " + reader.message);
      link.profile.clear();
      link.routed = true;
      // What is asked of a link without a message in mind (sums of gradients,
      // bounds) concerns large ones.
      const Route &best =
          *std::max_element(link.routes.begin(), link.routes.end(),
                            [](const Route &one, const Route &other) {
                              return one.bandwidth < other.bandwidth;
                            });
      link.viaHost = best.viaHost;
      link.chunkBytes = best.chunkBytes;
      link.latency = best.latency;
      link.bandwidth = best.bandwidth;
      cluster.setLink(a, b, link);
    }
  return Error::success();
}

} // namespace hethub::cluster
