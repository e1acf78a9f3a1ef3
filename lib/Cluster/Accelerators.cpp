// The table of known accelerators, and what to say about a name that is not in
// it.
#include "hethub/Cluster/Accelerators.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;

namespace hethub::cluster {

static constexpr Accelerator table[] = {
#define ACCELERATOR(name, kind, float32, tensorFloat32, float16, bfloat16,     \
                    memoryGiB, memoryGBps, linkGBps, hostGBps)                 \
  {name,     kind,      float32,    tensorFloat32, float16,                    \
   bfloat16, memoryGiB, memoryGBps, linkGBps,      hostGBps},
#include "Accelerators.def"
};

ArrayRef<Accelerator> accelerators() { return table; }

const Accelerator *findAccelerator(StringRef name) {
  for (const Accelerator &accelerator : table)
    if (accelerator.name == name)
      return &accelerator;
  return nullptr;
}

std::string suggestAccelerators(StringRef name) {
  std::vector<std::string> close, all;
  for (const Accelerator &accelerator : table) {
    std::string quoted = ("'" + accelerator.name + "'").str();
    all.push_back(quoted);
    // "A100" and "v100-16gb" are near, whatever their edit distance.
    bool prefix =
        !name.empty() && (accelerator.name.starts_with_insensitive(name) ||
                          name.starts_with_insensitive(accelerator.name));
    if (prefix || accelerator.name.edit_distance_insensitive(name) <= 2)
      close.push_back(quoted);
  }
  if (close.empty())
    return "known: " + join(all, ", ");
  return "did you mean " + join(close, " or ") + "?";
}

} // namespace hethub::cluster
