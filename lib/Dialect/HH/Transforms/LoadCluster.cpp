//===- LoadCluster.cpp - a cluster file as device types and links ---------===//

#include "hethub/Dialect/HH/IR/HHDialect.h"
#include "hethub/Dialect/HH/Transforms/ClusterOps.h"
#include "hethub/Dialect/HH/Transforms/Passes.h"

namespace hethub::hh {
#define GEN_PASS_DEF_LOADCLUSTER
#include "hethub/Dialect/HH/Transforms/Passes.h.inc"
} // namespace hethub::hh

using namespace mlir;
using namespace hethub;

namespace {
struct LoadCluster : hh::impl::LoadClusterBase<LoadCluster> {
  using LoadClusterBase::LoadClusterBase;

  void runOnOperation() override {
    if (file.empty() == (stages == 0)) {
      getOperation().emitError("give either a cluster file or a number of "
                               "stages");
      return signalPassFailure();
    }
    cluster::Cluster cluster = cluster::equalDevices(stages);
    if (!file.empty()) {
      llvm::Expected<cluster::Cluster> read = cluster::readCluster(file);
      if (!read) {
        // The message has file and line of its own.
        emitError(UnknownLoc::get(&getContext()))
            << llvm::toString(read.takeError());
        return signalPassFailure();
      }
      cluster = std::move(*read);
    }
    cluster::measureMissingFigures(cluster);
    hh::writeCluster(getOperation(), cluster);
  }
};
} // namespace
