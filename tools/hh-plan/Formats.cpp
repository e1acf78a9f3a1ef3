// The table of formats.
#include "Formats.h"

using namespace llvm;

namespace hethub::plan {

ArrayRef<Format> formats() {
  static const StringRef placementOptions[] = {"mode", "objective",
                                               "accelerators", "cpus"};
  static const StringRef piperOptions[] = {"devices", "microbatches",
                                           "bandwidth"};
  static const Format table[] = {
      {"dnn-partitioning",
       "placement of a profiled graph on accelerators and CPUs "
       "(msr-fiddle/dnn-partitioning)",
       placementOptions, solveDnnPartitioning},
      {"piper",
       "pipeline, data and tensor parallelism with recomputation on equal "
       "devices (msr-fiddle/piper)",
       piperOptions, solvePiper},
  };
  return table;
}

} // namespace hethub::plan
