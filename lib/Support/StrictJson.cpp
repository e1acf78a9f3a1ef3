// Finds repeated fields of JSON text.
#include "hethub/Support/StrictJson.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringSet.h"

#include <optional>

using namespace llvm;

namespace hethub {

/// Of valid JSON: a field that an object has twice. A string is a field's name
/// where the next token is a colon. Names are compared as they are written.
static std::optional<StringRef> repeatedField(StringRef text) {
  SmallVector<StringSet<>> open; // the fields of each enclosing object
  for (size_t at = 0; at < text.size(); ++at) {
    switch (text[at]) {
    case '{':
    case '[':
      open.emplace_back();
      break;
    case '}':
    case ']':
      open.pop_back();
      break;
    case '"': {
      const size_t begin = at + 1;
      for (++at; text[at] != '"'; ++at)
        if (text[at] == '\\')
          ++at;
      StringRef string = text.slice(begin, at);
      if (text.substr(at + 1).ltrim().starts_with(":") &&
          !open.back().insert(string).second)
        return string;
      break;
    }
    default:
      break;
    }
  }
  return std::nullopt;
}

Expected<json::Value> parseStrictJson(StringRef text) {
  Expected<json::Value> value = json::parse(text);
  if (!value)
    return value.takeError();
  if (std::optional<StringRef> field = repeatedField(text))
    return createStringError(inconvertibleErrorCode(),
                             "an object must have each field once, got '" +
                                 *field + "' twice");
  return value;
}

} // namespace hethub
