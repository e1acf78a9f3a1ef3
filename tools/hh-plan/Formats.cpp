// The table of formats.
#include "Formats.h"

using namespace llvm;

namespace hethub::plan {

ArrayRef<Format> formats() {
  static const Format table[] = {
      {"dnn-partitioning",
       "placement of a profiled graph on accelerators and CPUs "
       "(msr-fiddle/dnn-partitioning)",
       solveDnnPartitioning},
  };
  return table;
}

} // namespace hethub::plan
