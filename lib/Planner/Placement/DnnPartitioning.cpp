// The reader of dnn-partitioning instances. Strict: a figure that is not what
// the format says would be planned for silently otherwise.
#include "hethub/Planner/DnnPartitioning.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"

#include <cmath>

using namespace llvm;

namespace hethub::planner {

namespace {

class Reader {
public:
  explicit Reader(StringRef fileName) : fileName(fileName) {}

  Expected<PlacementProblem> read(StringRef text);

private:
  Error fail(const Twine &message) const {
    return createStringError(inconvertibleErrorCode(),
                             fileName + ": " + message);
  }
  Error readDevices(const json::Object &root);
  Error readNode(const json::Value &value, size_t position);
  Error readEdge(const json::Value &value, size_t position);
  /// A number >= 0 at `key`.
  Error amount(const json::Object &object, const Twine &where, StringRef key,
               double &result) const;
  Error count(const json::Object &object, StringRef key,
              unsigned &result) const;
  /// 0, 1, false or true.
  Error flag(const json::Object &object, const Twine &where, StringRef key,
             bool &result) const;

  StringRef fileName;
  PlacementProblem problem;
  DenseMap<int64_t, unsigned> nodeOfId;
  std::vector<bool> hasEdge; // of a node: transferSeconds is known
};

} // namespace

static std::string shown(const json::Value *value) {
  return value ? formatv("{0}", *value).str() : "nothing";
}

Error Reader::amount(const json::Object &object, const Twine &where,
                     StringRef key, double &result) const {
  const json::Value *value = object.get(key);
  std::optional<double> number = value ? value->getAsNumber() : std::nullopt;
  if (!number || !std::isfinite(*number) || *number < 0)
    return fail(where + key +
                " must be a finite number of at least 0, got: " + shown(value));
  result = *number;
  return Error::success();
}

Error Reader::count(const json::Object &object, StringRef key,
                    unsigned &result) const {
  const json::Value *value = object.get(key);
  std::optional<int64_t> number = value ? value->getAsInteger() : std::nullopt;
  if (!number || *number < 0 || *number > 1000000)
    return fail(key + " must be a whole number from 0 to 1000000, got: " +
                shown(value));
  result = unsigned(*number);
  return Error::success();
}

Error Reader::flag(const json::Object &object, const Twine &where,
                   StringRef key, bool &result) const {
  const json::Value *value = object.get(key);
  if (value) {
    if (std::optional<bool> boolean = value->getAsBoolean()) {
      result = *boolean;
      return Error::success();
    }
    if (std::optional<int64_t> number = value->getAsInteger();
        number && (*number == 0 || *number == 1)) {
      result = *number == 1;
      return Error::success();
    }
  }
  return fail(where + key +
              " must be 0, 1, false or true, got: " + shown(value));
}

Error Reader::readDevices(const json::Object &root) {
  problem.classes.resize(2);
  DeviceClass &accelerators = problem.classes[0], &cpus = problem.classes[1];
  accelerators.name = "acc";
  cpus.name = "cpu";
  cpus.transferScale = 0;
  cpus.pooled = true;
  if (Error error = count(root, "maxFPGAs", accelerators.count))
    return error;
  if (Error error = count(root, "maxCPUs", cpus.count))
    return error;
  return amount(root, "", "maxSizePerFPGA", accelerators.memoryBytes);
}

Error Reader::readNode(const json::Value &value, size_t position) {
  const json::Object *object = value.getAsObject();
  if (!object)
    return fail("nodes[" + Twine(position) +
                "] must be an object, got: " + shown(&value));
  const json::Value *idValue = object->get("id");
  std::optional<int64_t> id = idValue ? idValue->getAsInteger() : std::nullopt;
  if (!id)
    return fail("nodes[" + Twine(position) +
                "]: id must be a whole number, got: " + shown(idValue));
  if (!nodeOfId.try_emplace(*id, problem.nodes.size()).second)
    return fail("node " + Twine(*id) + ": id occurs twice");
  const std::string where = ("node " + Twine(*id) + ": ").str();

  PlacementNode node;
  node.name = std::to_string(*id);
  node.seconds.assign(2, std::numeric_limits<double>::infinity());
  bool supported = true;
  if (Error error = flag(*object, where, "supportedOnFpga", supported))
    return error;
  if (supported)
    if (Error error = amount(*object, where, "fpgaLatency", node.seconds[0]))
      return error;
  if (Error error = amount(*object, where, "cpuLatency", node.seconds[1]))
    return error;
  if (Error error = amount(*object, where, "size", node.memoryBytes))
    return error;
  if (Error error = flag(*object, where, "isBackwardNode", node.backward))
    return error;
  if (const json::Value *color = object->get("colorClass")) {
    std::optional<int64_t> number = color->getAsInteger();
    if (!number || *number < 0 || *number > std::numeric_limits<int>::max())
      return fail(where +
                  "colorClass must be a whole number of at least 0, "
                  "got: " +
                  shown(color));
    node.color = int(*number);
  }
  problem.nodes.push_back(std::move(node));
  return Error::success();
}

Error Reader::readEdge(const json::Value &value, size_t position) {
  const json::Object *object = value.getAsObject();
  if (!object)
    return fail("edges[" + Twine(position) +
                "] must be an object, got: " + shown(&value));
  unsigned ends[2];
  for (auto [end, key] :
       {std::pair<unsigned *, StringRef>{&ends[0], "sourceId"},
        std::pair<unsigned *, StringRef>{&ends[1], "destId"}}) {
    const json::Value *idValue = object->get(key);
    std::optional<int64_t> id =
        idValue ? idValue->getAsInteger() : std::nullopt;
    auto found = id ? nodeOfId.find(*id) : nodeOfId.end();
    if (found == nodeOfId.end())
      return fail("edges[" + Twine(position) + "]: " + key +
                  " must be the id of a node, got: " + shown(idValue));
    *end = found->second;
  }
  PlacementNode &source = problem.nodes[ends[0]];
  const std::string where =
      "edge " + source.name + " -> " + problem.nodes[ends[1]].name + ": ";
  double cost = 0;
  if (Error error = amount(*object, where, "cost", cost))
    return error;
  if (hasEdge[ends[0]] && cost != source.transferSeconds)
    return fail(formatv("{0}cost must be the same on every edge that leaves "
                        "node {1} ({2}), got: {3}",
                        where, source.name, json::Value(source.transferSeconds),
                        json::Value(cost)));
  hasEdge[ends[0]] = true;
  source.transferSeconds = cost;
  source.consumers.push_back(ends[1]);
  return Error::success();
}

Expected<PlacementProblem> Reader::read(StringRef text) {
  Expected<json::Value> root = json::parse(text);
  if (!root)
    return fail("not JSON: " + toString(root.takeError()));
  const json::Object *object = root->getAsObject();
  if (!object)
    return fail("an instance must be an object with nodes and edges");
  if (Error error = readDevices(*object))
    return error;
  const json::Array *nodes = object->getArray("nodes");
  const json::Array *edges = object->getArray("edges");
  if (!nodes || !edges)
    return fail(Twine(nodes ? "edges" : "nodes") + " must be a list");
  for (size_t position = 0; position < nodes->size(); ++position)
    if (Error error = readNode((*nodes)[position], position))
      return error;
  hasEdge.assign(problem.nodes.size(), false);
  for (size_t position = 0; position < edges->size(); ++position)
    if (Error error = readEdge((*edges)[position], position))
      return error;
  if (Error error = verifyPlacementProblem(problem))
    return fail(toString(std::move(error)));
  return std::move(problem);
}

Expected<PlacementProblem> readDnnPartitioning(StringRef text,
                                               StringRef fileName) {
  return Reader(fileName).read(text);
}

} // namespace hethub::planner
