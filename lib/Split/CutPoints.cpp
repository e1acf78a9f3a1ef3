//===- CutPoints.cpp - borders behind tensors that a user names -----------===//

#include "Borders.h"

#include "llvm/ADT/StringExtras.h"

using namespace llvm;
using hethub::import::fail;

namespace hethub::split {

namespace {
struct Border {
  std::string text;
  std::vector<unsigned> ends; ///< nodes that make its tensors
  unsigned last = 0;          ///< of them
};
} // namespace

/// Up to three names that a user may have meant.
static std::string nearest(const ModelCut &cut, StringRef name) {
  std::vector<std::pair<unsigned, StringRef>> close;
  for (const auto &entry : cut.producer) {
    StringRef other = entry.getKey();
    unsigned distance = other.contains(name) || name.contains(other)
                            ? 1
                            : name.edit_distance(other, true, name.size());
    if (distance <= std::max<size_t>(2, name.size() / 2))
      close.emplace_back(distance, other);
  }
  llvm::sort(close);
  if (close.empty())
    return "";
  std::string text = "; nearest:";
  for (auto [distance, other] : ArrayRef(close).take_front(3))
    text += (text.back() == ':' ? " '" : ", '") + other.str() + "'";
  return text;
}

static Border borderOf(const ModelCut &cut, const std::string &text) {
  // A name may hold a comma.
  SmallVector<StringRef> names{text};
  if (!cut.producer.contains(text))
    names.clear(), StringRef(text).split(names, ',');
  Border border{text, {}, 0};
  for (StringRef name : names) {
    auto found = cut.producer.find(name);
    if (found == cut.producer.end()) {
      const char *kind = cut.weights.contains(name)  ? "a weight"
                         : cut.inputs.contains(name) ? "an input of the model"
                                                     : nullptr;
      if (kind)
        fail("a cut must be behind a node, got " + Twine(kind) + ": '" + name +
             "'");
      fail("a cut must be at a tensor of the model, got: '" + name + "'" +
           nearest(cut, name));
    }
    if (cut.nodes[found->second].constant)
      fail("a cut must be behind something that depends on inputs, got: '" +
           name + "' of " + cut.describe(found->second));
    border.ends.push_back(found->second);
    border.last = std::max(border.last, found->second);
  }
  return border;
}

void cutAt(ModelCut &cut, const std::vector<std::string> &at) {
  std::vector<Border> borders;
  for (const std::string &text : at)
    borders.push_back(borderOf(cut, text));
  llvm::stable_sort(borders, [](const Border &a, const Border &b) {
    return a.last < b.last;
  });
  const unsigned last = borders.size();
  std::vector<std::optional<unsigned>> stageOf(cut.nodes.size());
  for (auto [stage, border] : llvm::enumerate(borders)) {
    bool found = false;
    std::vector<unsigned> work = border.ends;
    while (!work.empty()) {
      unsigned node = work.back();
      work.pop_back();
      if (stageOf[node] || cut.nodes[node].constant)
        continue;
      stageOf[node] = stage;
      found = true;
      for (const std::string &name : cut.nodes[node].reads)
        if (auto from = cut.producer.find(name); from != cut.producer.end())
          work.push_back(from->second);
    }
    if (!found)
      fail("a cut must leave something in each stage, got nothing new before "
           "'" +
           border.text + "'; earlier cuts have all of it");
  }
  bool left = false;
  for (unsigned node = 0; node < cut.nodes.size(); ++node) {
    left |=
        !stageOf[node] && !cut.nodes[node].constant && !cut.nodes[node].dead;
    cut.nodes[node].stage = stageOf[node].value_or(last);
  }
  if (!left)
    fail("a cut must leave something in each stage, got nothing behind '" +
         borders.back().text + "'");
  cut.stageCount = last + 1;
}

} // namespace hethub::split
