// The JSON format of msr-fiddle/piper.
#include "hethub/Planner/Piper.h"
#include "hethub/Support/StrictJson.h"

#include "llvm/Support/FormatVariadic.h"

#include <cmath>

using namespace llvm;

namespace hethub::planner::piper {
namespace {

/// Reads fields of one object; the first mistake is kept.
class Reader {
public:
  explicit Reader(StringRef fileName) : fileName(fileName) {}

  template <typename... Values>
  void fail(const char *format, Values &&...values) {
    if (message.empty())
      message = formatv(format, std::forward<Values>(values)...).str();
  }
  bool failed() const { return !message.empty(); }
  Error takeError() const {
    return createStringError(inconvertibleErrorCode(),
                             fileName + ": " + message);
  }

  const json::Object *object(const json::Value &value, const Twine &where) {
    const json::Object *object = value.getAsObject();
    if (!object)
      fail("{0} must be an object", where.str());
    return object;
  }
  const json::Array *array(const json::Object &from, StringRef key) {
    const json::Array *array = from.getArray(key);
    if (!array)
      fail("{0} must be a list", key);
    return array;
  }
  double amount(const json::Object &from, StringRef key, const Twine &where) {
    const json::Value *value = from.get(key);
    std::optional<double> number =
        value ? value->getAsNumber() : std::optional<double>();
    if (number && std::isfinite(*number) && *number >= 0)
      return *number;
    fail("{0}{1} must be a number of at least 0, got: {2}", where.str(), key,
         value ? formatv("{0}", *value).str() : "nothing");
    return 0;
  }
  int64_t whole(const json::Object &from, StringRef key, const Twine &where,
                int64_t least, int64_t most) {
    const json::Value *value = from.get(key);
    std::optional<int64_t> number =
        value ? value->getAsInteger() : std::optional<int64_t>();
    if (number && *number >= least && *number <= most)
      return *number;
    fail("{0}{1} must be a whole number from {2} to {3}, got: {4}", where.str(),
         key, least, most, value ? formatv("{0}", *value).str() : "nothing");
    return least;
  }

private:
  std::string fileName, message;
};

constexpr int64_t mostDevices = 1000000000;
constexpr int64_t mostIds = int64_t(1) << 53;

class Parser : Reader {
public:
  explicit Parser(StringRef fileName) : Reader(fileName) {}

  Expected<Problem> parse(StringRef text) {
    Expected<json::Value> value = parseStrictJson(text);
    if (!value)
      fail("an instance must be JSON: {0}", toString(value.takeError()));
    else if (const json::Object *root = object(*value, "the file"))
      parseRoot(*root);
    if (failed())
      return takeError();
    return std::move(problem);
  }

private:
  void parseRoot(const json::Object &root) {
    problem.devices = whole(root, "maxDevices", "", 1, mostDevices);
    problem.memoryBytes = amount(root, "maxMemoryPerDevice", "");
    problem.bandwidth = amount(root, "bandwidth", "");
    problem.microbatches = whole(root, "mbsInBatch", "", 1, mostDevices);
    const json::Array *nodes = array(root, "nodes");
    const json::Array *edges = array(root, "edges");
    if (failed())
      return;
    // Variants name edges by the layer at the other end, so edges come first.
    for (size_t index = 0; index < nodes->size() && !failed(); ++index)
      if (const json::Object *node =
              object((*nodes)[index], "node " + Twine(index)))
        parseName(*node, index);
    for (size_t index = 0; index < edges->size() && !failed(); ++index)
      if (const json::Object *edge =
              object((*edges)[index], "edge " + Twine(index)))
        parseEdge(*edge, index);
    for (size_t index = 0; index < nodes->size() && !failed(); ++index)
      parseDegrees(*(*nodes)[index].getAsObject(), index);
  }

  void parseName(const json::Object &node, size_t index) {
    const std::string where = formatv("node {0}: ", index);
    Layer &layer = problem.layers.emplace_back();
    layer.id = whole(node, "id", where, 0, mostIds);
    layer.name = node.getString("name").value_or("").str();
    if (!indexOf.try_emplace(layer.id, index).second)
      fail("node {0}: ids must differ, got {1} twice", index, layer.id);
  }

  unsigned parseEnd(const json::Object &edge, StringRef key,
                    const std::string &where) {
    const int64_t id = whole(edge, key, where, 0, mostIds);
    auto found = indexOf.find(id);
    if (found != indexOf.end())
      return found->second;
    fail("{0}{1} must be the id of a node, got: {2}", where, key, id);
    return 0;
  }

  void parseEdge(const json::Object &edge, size_t index) {
    const std::string where = formatv("edge {0}: ", index);
    Edge &result = problem.edges.emplace_back();
    result.source = parseEnd(edge, "sourceId", where);
    result.target = parseEnd(edge, "destId", where);
    result.bytes = amount(edge, "communicationCost", where);
  }

  void parseDegrees(const json::Object &node, unsigned index) {
    const std::string where = formatv("node {0}: ", problem.layers[index].id);
    const json::Object *degrees = node.getObject("TMPCs");
    if (!degrees)
      return fail("{0}TMPCs must be an object", where);
    for (const auto &[key, value] : *degrees) {
      unsigned degree = 0;
      const json::Array *variants = value.getAsArray();
      if (StringRef(key).getAsInteger(10, degree) || degree < 1)
        return fail("{0}TMPCs: keys must be tensor degrees of at least 1, "
                    "got: '{1}'",
                    where, StringRef(key));
      const std::string place = formatv("{0}TMPCs {1}: ", where, degree);
      if (!variants)
        return fail("{0}it must be a list of variants", place);
      for (const json::Value &entry : *variants) {
        const json::Object *variant = object(entry, place + "a variant");
        if (failed())
          return;
        parseVariant(*variant, index, degree, place);
      }
    }
  }

  void parseVariant(const json::Object &entry, unsigned layer, unsigned degree,
                    const std::string &place) {
    std::optional<StringRef> id = entry.getString("id");
    if (!id)
      return fail("{0}id must be a string", place);
    std::vector<Variant> &variants = problem.layers[layer].variants[degree];
    if (llvm::any_of(variants, [&](const Variant &v) { return v.id == *id; }))
      return fail("{0}ids must differ, got '{1}' twice", place, *id);
    const std::string where = formatv("{0}'{1}': ", place, *id);
    Variant &variant = variants.emplace_back();
    variant.id = id->str();
    variant.seconds = amount(entry, "timePerSample", where);
    variant.parameterBytes = amount(entry, "parameterSize", where);
    variant.activationBytes = amount(entry, "memoryUsageA", where);
    variant.fixedBytes = amount(entry, "memoryUsageB", where);
    parseGather(entry, "syncTimeFw", true, layer, variant, where);
    parseGather(entry, "syncTimeBw", false, layer, variant, where);
  }

  void parseGather(const json::Object &entry, StringRef field, bool incoming,
                   unsigned layer, Variant &variant, const std::string &where) {
    const json::Object *gather = entry.getObject(field);
    if (!gather)
      return fail("{0}{1} must be an object", where, field);
    for (const auto &[key, value] : *gather) {
      const double bytes =
          amount(*gather, key, where + std::string(field) + ": ");
      int64_t id = 0;
      bool used = false;
      if (!StringRef(key).getAsInteger(10, id))
        for (unsigned edge = 0; edge < problem.edges.size(); ++edge) {
          const Edge &ends = problem.edges[edge];
          const unsigned here = incoming ? ends.target : ends.source;
          const unsigned there = incoming ? ends.source : ends.target;
          if (here != layer || problem.layers[there].id != id)
            continue;
          variant.gatherBytes[edge] = bytes;
          used = true;
        }
      if (!used)
        return fail("{0}{1}: keys must be {2} of an edge {3} this node, got: "
                    "'{4}'",
                    where, field, incoming ? "sources" : "targets",
                    incoming ? "to" : "from", StringRef(key));
    }
  }

  Problem problem;
  std::map<int64_t, unsigned> indexOf;
};

} // namespace

Expected<Problem> parseProblem(StringRef text, StringRef fileName) {
  return Parser(fileName).parse(text);
}

json::Array stagesToJSON(const Problem &problem, ArrayRef<Stage> stages) {
  json::Array result;
  for (const Stage &stage : stages) {
    json::Array nodes;
    json::Object variants;
    for (size_t position = 0; position < stage.layers.size(); ++position) {
      const Layer &layer = problem.layers[stage.layers[position]];
      nodes.push_back(layer.id);
      variants[std::to_string(layer.id)] =
          layer.variants.at(stage.tensorDegree)[stage.variants[position]].id;
    }
    result.push_back(json::Object{{"nodes", std::move(nodes)},
                                  {"dataParallelDegree", stage.dataDegree},
                                  {"tensorParallelDegree", stage.tensorDegree},
                                  {"TMPCids", std::move(variants)}});
  }
  return result;
}

} // namespace hethub::planner::piper
