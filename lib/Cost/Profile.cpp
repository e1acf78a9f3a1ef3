//===- Profile.cpp - measured times of operations -------------------------===//

#include "hethub/Cost/Profile.h"

#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"

#include <cmath>

using namespace llvm;
using namespace hethub;
using namespace hethub::cost;

const ProfileEntry *Profile::find(StringRef signature) const {
  auto found = operations.find(signature);
  return found == operations.end() ? nullptr : &found->second;
}

static Error fail(StringRef fileName, const Twine &message) {
  return createStringError(inconvertibleErrorCode(),
                           fileName.str() + ": " + message.str());
}

/// A field that is left out, or a number of seconds that is not negative.
static bool readSeconds(const json::Object &entry, StringRef field,
                        std::optional<double> &seconds) {
  const json::Value *value = entry.get(field);
  if (!value || value->kind() == json::Value::Null)
    return true;
  seconds = value->getAsNumber();
  return seconds && std::isfinite(*seconds) && *seconds >= 0;
}

Expected<Profile> cost::parseProfile(StringRef text, StringRef fileName) {
  Expected<json::Value> root = json::parse(text);
  if (!root)
    return fail(fileName,
                "a profile must be JSON: " + toString(root.takeError()));
  const json::Object *operations = root->getAsObject();
  if (operations && operations->get("ops"))
    operations = operations->getObject("ops");
  if (!operations)
    return fail(fileName,
                "a profile must be an object of seconds by signature");
  Profile profile;
  for (const auto &[key, value] : *operations) {
    StringRef signature = key;
    const json::Object *entry = value.getAsObject();
    std::optional<double> forward, backward;
    if (!entry || !readSeconds(*entry, "forward_s", forward) || !forward ||
        !readSeconds(*entry, "backward_s", backward))
      return fail(fileName,
                  "'" + signature +
                      "' must have a number of seconds, not negative, in "
                      "'forward_s' and 'backward_s' (which may be left out)");
    profile.operations[signature] = {*forward, backward};
  }
  return profile;
}

Expected<Profile> cost::readProfile(StringRef path) {
  ErrorOr<std::unique_ptr<MemoryBuffer>> buffer = MemoryBuffer::getFile(path);
  if (!buffer)
    return fail(path,
                "cannot read the profile: " + buffer.getError().message());
  return parseProfile((*buffer)->getBuffer(), path);
}
