// One table: CPU to CPU goes straight over the host back end, a kind with its
// own library over that, and everything else through host memory.
#include "ChannelComms.h"
#include "HostStagedComm.h"
#include "hethub/runtime/Executor.h"

#include <algorithm>

using namespace hethub::runtime;

Route hethub::runtime::routeOf(const std::string &fromKind,
                               const std::string &toKind, bool viaHost,
                               int64_t chunkBytes) {
  // Two CPUs are on the host whatever the plan says; only chunks make a
  // difference there.
  if (fromKind == "cpu" && toKind == "cpu")
    return viaHost && chunkBytes > 0 ? Route::Staged : Route::Host;
  if (fromKind == toKind && fromKind == "cuda" && !viaHost)
    return Route::Direct;
  return Route::Staged;
}

ChannelComms::ChannelComms(const StageSpec &spec, Comm &host, at::Device device,
                           Exchange exchange)
    : spec_(spec), host_(host), device_(device),
      exchange_(std::move(exchange)) {}

Comm &ChannelComms::of(const ChannelSpec &channel, int peerRank) {
  const std::string &from =
      spec_.stages[static_cast<size_t>(channel.fromStage)].kind;
  const std::string &to =
      spec_.stages[static_cast<size_t>(channel.toStage)].kind;
  switch (routeOf(from, to, channel.viaHost, channel.chunkBytes)) {
  case Route::Host:
    return host_;
  case Route::Direct: {
    std::vector<Place> own = placesOf(spec_, host_.rank());
    bool sends = std::any_of(own.begin(), own.end(), [&](const Place &place) {
      return place.stage == channel.fromStage;
    });
    int sender = sends ? host_.rank() : peerRank,
        receiver = sends ? peerRank : host_.rank();
    // One communicator for each directed edge: opposite directions in one
    // communicator can deadlock.
    std::string edge = std::to_string(sender) + "-" + std::to_string(receiver);
    std::unique_ptr<Comm> &comm = edges_[edge];
    if (!comm)
      comm = deviceBackend(from).makeGroup(device_, exchange_, edge,
                                           sends ? 0 : 1, 2);
    return *comm;
  }
  case Route::Staged: {
    int64_t bytes =
        channel.chunkBytes > 0 ? channel.chunkBytes : defaultChunkBytes;
    std::unique_ptr<Comm> &comm = staged_[bytes];
    if (!comm)
      comm = makeHostStagedComm(host_, device_, bytes);
    return *comm;
  }
  }
  return host_;
}

Comm &ChannelComms::groupOf(const std::vector<int> &ranks) {
  std::unique_ptr<Comm> &comm = groups_[ranks];
  if (comm)
    return *comm;
  auto kindOf = [&](int rank) {
    return spec_.stages[static_cast<size_t>(placesOf(spec_, rank)[0].stage)]
        .kind;
  };
  // The slowest route between any two of them carries all.
  Route route = routeOf(kindOf(ranks[0]), kindOf(ranks[0]));
  for (int rank : ranks)
    if (kindOf(rank) != kindOf(ranks[0]))
      route = Route::Staged;
  if (route == Route::Direct) {
    std::string name = "group";
    for (int rank : ranks)
      name += "-" + std::to_string(rank);
    auto index = std::find(ranks.begin(), ranks.end(), host_.rank());
    comm = deviceBackend(kindOf(ranks[0]))
               .makeGroup(device_, exchange_, name,
                          static_cast<int>(index - ranks.begin()),
                          static_cast<int>(ranks.size()));
    return *comm;
  }
  if (device_.type() == at::kCPU) {
    comm = host_.group(ranks);
    return *comm;
  }
  std::unique_ptr<Comm> &host = hostGroups_[ranks] = host_.group(ranks);
  comm = makeHostStagedComm(*host, device_);
  return *comm;
}
