// The registry of device back ends, and their loading from the folder that this
// library lies in.
#include "DeviceBackends.h"
#include "hethub/runtime/Error.h"

#include <dlfcn.h>

#include <filesystem>
#include <map>
#include <mutex>

using namespace hethub::runtime;

namespace {
std::map<std::string, DeviceBackend> &registry() {
  static std::map<std::string, DeviceBackend> backends;
  return backends;
}

std::filesystem::path ownFolder() {
  Dl_info info;
  if (dladdr(reinterpret_cast<void *>(&registry), &info) && info.dli_fname)
    return std::filesystem::path(info.dli_fname).parent_path();
  return {};
}
} // namespace

bool hethub::runtime::registerDeviceBackend(DeviceBackend backend) {
  std::string kind = backend.kind;
  return registry().emplace(kind, std::move(backend)).second;
}

const DeviceBackend &hethub::runtime::deviceBackend(const std::string &kind) {
  static std::mutex mutex;
  std::lock_guard lock(mutex);
  auto found = registry().find(kind);
  if (found == registry().end()) {
    std::string library =
        (ownFolder() / ("libhethub_runtime_" + kind + ".so")).string();
    if (!std::filesystem::exists(library))
      fail("this runtime was built without devices of kind ", kind);
    if (!dlopen(library.c_str(), RTLD_NOW | RTLD_GLOBAL))
      fail("cannot load devices of kind ", kind, ": ", dlerror());
    found = registry().find(kind);
    if (found == registry().end())
      fail("not a device library: ", library);
  }
  return found->second;
}
