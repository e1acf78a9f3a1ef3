//===- Profile.cpp - measured times of operations -------------------------===//

#include "hethub/Cost/Profile.h"

#include "hethub/Support/StrictJson.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"

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

/// Longer than any operation lasts, and sums of it are still finite.
static constexpr int64_t longestSeconds = 1'000'000'000;

/// Seconds of a field, nothing where it is left out.
static Expected<std::optional<double>> readSeconds(const json::Object &entry,
                                                   StringRef field) {
  const json::Value *value = entry.get(field);
  if (!value || value->kind() == json::Value::Null)
    return std::nullopt;
  std::optional<double> seconds = value->getAsNumber();
  if (!seconds || !(*seconds >= 0 && *seconds <= double(longestSeconds)))
    return createStringError(
        inconvertibleErrorCode(),
        formatv("{0} must be seconds from 0 to {1}, got: {2}", field,
                longestSeconds, *value)
            .str());
  return seconds;
}

Expected<Profile> cost::parseProfile(StringRef text, StringRef fileName) {
  Expected<json::Value> root = parseStrictJson(text);
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
    auto refuse = [&](const Twine &rule) {
      return fail(fileName, "'" + signature + "': " + rule);
    };
    if (!entry)
      return refuse(formatv("an operation must be an object with forward_s, "
                            "got: {0}",
                            value));
    std::optional<double> forward;
    ProfileEntry read;
    for (auto [field, seconds] :
         {std::pair<StringRef, std::optional<double> *>{"forward_s", &forward},
          {"backward_s", &read.backward},
          {"input_gradient_s", &read.inputGradient},
          {"weight_gradient_s", &read.weightGradient}}) {
      Expected<std::optional<double>> found = readSeconds(*entry, field);
      if (!found)
        return refuse(toString(found.takeError()));
      *seconds = *found;
    }
    if (!forward)
      return refuse("an operation must have forward_s, got: none");
    read.forward = *forward;
    profile.operations[signature] = read;
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
