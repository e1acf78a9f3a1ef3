// LLVM's YAML parser, read into a tree.
#include "YamlTree.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/YAMLParser.h"

using namespace llvm;

namespace hethub::cluster {

const YamlValue *YamlValue::field(StringRef name) const {
  for (const auto &[key, value] : fields)
    if (key == name)
      return &value;
  return nullptr;
}

namespace {

/// Deep nesting is refused: it is no cluster, and the walk is recursive.
constexpr unsigned maxDepth = 32;

struct Reader {
  SourceMgr sources;
  std::string fileName;
  std::string message; // the first error

  void fail(unsigned line, const Twine &what) {
    if (message.empty())
      message = (fileName + ":" + Twine(line) + ": " + what).str();
  }

  unsigned lineOf(yaml::Node &node) {
    SMLoc location = node.getSourceRange().Start;
    return location.isValid() ? sources.getLineAndColumn(location).first : 1;
  }

  YamlValue read(yaml::Node *node, unsigned depth) {
    YamlValue value;
    if (!node)
      return value;
    value.line = lineOf(*node);
    if (depth > maxDepth) {
      fail(value.line,
           "values must be nested at most " + Twine(maxDepth) + " deep");
      return value;
    }
    if (auto *scalar = dyn_cast<yaml::ScalarNode>(node)) {
      SmallString<64> storage;
      value.kind = YamlValue::Scalar;
      value.scalar = scalar->getValue(storage).str();
    } else if (auto *block = dyn_cast<yaml::BlockScalarNode>(node)) {
      value.kind = YamlValue::Scalar;
      value.scalar = block->getValue().str();
    } else if (auto *sequence = dyn_cast<yaml::SequenceNode>(node)) {
      value.kind = YamlValue::Sequence;
      for (yaml::Node &item : *sequence) {
        value.items.push_back(read(&item, depth + 1));
        if (!message.empty())
          break;
      }
    } else if (auto *mapping = dyn_cast<yaml::MappingNode>(node)) {
      value.kind = YamlValue::Mapping;
      for (yaml::KeyValueNode &entry : *mapping) {
        YamlValue key = read(entry.getKey(), depth + 1);
        if (!message.empty())
          break;
        if (key.kind != YamlValue::Scalar)
          fail(value.line, "keys must be plain words");
        else if (value.field(key.scalar))
          fail(key.line, "a key must stand once in a mapping, got twice: '" +
                             key.scalar + "'");
        YamlValue item = read(entry.getValue(), depth + 1);
        if (!message.empty())
          break;
        if (item.line == 0)
          item.line = key.line;
        value.fields.emplace_back(std::move(key.scalar), std::move(item));
      }
    } else if (isa<yaml::AliasNode>(node)) {
      fail(value.line, "aliases (*name) are not supported");
    }
    return value;
  }
};

} // namespace

Expected<YamlValue> parseYaml(StringRef text, StringRef fileName) {
  Reader reader;
  reader.fileName = fileName.str();
  reader.sources.setDiagHandler(
      [](const SMDiagnostic &diagnostic, void *context) {
        auto &reader = *static_cast<Reader *>(context);
        std::string what = diagnostic.getMessage().str();
        if (!what.empty())
          what[0] = toLower(what[0]);
        reader.fail(std::max(diagnostic.getLineNo(), 1), "not YAML: " + what);
      },
      &reader);
  yaml::Stream stream(MemoryBufferRef(text, reader.fileName), reader.sources,
                      /*ShowColors=*/false);
  YamlValue value;
  auto document = stream.begin();
  if (document != stream.end())
    value = reader.read(document->getRoot(), 0);
  if (reader.message.empty() && !stream.failed() && document != stream.end() &&
      ++document != stream.end())
    reader.fail(1, "a cluster file must hold one document");
  if (reader.message.empty() && stream.failed())
    reader.fail(1, "not YAML");
  if (!reader.message.empty())
    return createStringError(inconvertibleErrorCode(), "%s",
                             reader.message.c_str());
  return value;
}

} // namespace hethub::cluster
