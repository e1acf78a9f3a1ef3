// Peak figures of accelerators that one can buy, from vendors' datasheets.
#ifndef HETHUB_CLUSTER_ACCELERATORS_H
#define HETHUB_CLUSTER_ACCELERATORS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <string>

namespace hethub::cluster {

/// One line of lib/Cluster/Accelerators.def. 0: the unit has no such
/// arithmetic, or the figure is not published.
struct Accelerator {
  llvm::StringRef name;
  llvm::StringRef kind;       ///< What the runtime drives it with.
  double float32Tflops;       ///< vector units
  double tensorFloat32Tflops; ///< matrix units
  double float16Tflops;       ///< matrix units, dense
  double bfloat16Tflops;      ///< matrix units, dense
  double memoryGiB;
  double memoryGBps; ///< 1e9 bytes/s
  double linkGBps;   ///< 1e9 bytes/s, one direction, all links of one device
                     ///< inside a node
  double hostGBps;   ///< 1e9 bytes/s of a copy between device and host memory
};

llvm::ArrayRef<Accelerator> accelerators();
const Accelerator *findAccelerator(llvm::StringRef name);

/// "did you mean 'V100-16GB'?" or the list of all names where none is near.
std::string suggestAccelerators(llvm::StringRef name);

} // namespace hethub::cluster

#endif
