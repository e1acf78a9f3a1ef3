// TCPStore of c10d with messages of our own, and a prefix for each run.
#include "Store.h"
#include "hethub/runtime/Error.h"

#include <c10/util/Logging.h>
#include <torch/csrc/distributed/c10d/HashStore.hpp>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include <netdb.h>
#include <sys/socket.h>

using namespace hethub::runtime;

std::chrono::milliseconds hethub::runtime::milliseconds(double seconds) {
  return std::chrono::milliseconds(
      std::max<int64_t>(1, static_cast<int64_t>(seconds * 1e3)));
}

namespace {
void checkResolves(const std::string &host) {
  addrinfo *found = nullptr;
  int status = getaddrinfo(host.c_str(), nullptr, nullptr, &found);
  if (status != 0)
    fail("MASTER_ADDR names no host: ", host, ": ", gai_strerror(status));
  freeaddrinfo(found);
}
} // namespace

StorePtr hethub::runtime::openStore(const Launch &launch, double timeoutS) {
  // c10d's own warnings about sockets would stand beside our one message.
  FLAGS_caffe2_log_level = c10::GLOG_FATAL;
  checkResolves(launch.address);
  c10d::TCPStoreOptions options;
  options.port = static_cast<uint16_t>(launch.port);
  options.isServer = launch.hostsStore();
  options.numWorkers = launch.size;
  options.waitWorkers =
      false; // the ranks meet in a barrier that names who is missing
  options.timeout = milliseconds(timeoutS);
  StorePtr store;
  try {
    store = c10::make_intrusive<c10d::TCPStore>(launch.address, options);
  } catch (const std::exception &error) {
    std::string reason = messageOf(error);
    if (reason.find("EADDRINUSE") != std::string::npos ||
        reason.find("in use") != std::string::npos)
      fail("port ", launch.port, " is already in use on ", launch.address,
           ": set MASTER_PORT to a free one");
    if (launch.hostsStore())
      fail("cannot serve the store on ", launch.address, ":", launch.port, ": ",
           reason);
    fail("rank 0 does not answer at ", launch.address, ":", launch.port,
         " within ", timeoutS, " s");
  }
  return c10::make_intrusive<c10d::PrefixStore>("hethub/" + launch.runName,
                                                store);
}

StorePtr hethub::runtime::openLocalStore() {
  return c10::make_intrusive<c10d::HashStore>();
}
