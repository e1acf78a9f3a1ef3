// What an iteration is predicted from, apart from its configuration: figures
// of the machine and constants fitted from measured iterations.
#ifndef HETHUB_PREDICTOR_CALIBRATION_H
#define HETHUB_PREDICTOR_CALIBRATION_H

#include "hethub/Predictor/AllReduceTable.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"

namespace hethub::predictor {

/// See Constants.def.
struct Constants {
#define CONSTANT(member, name, unit, expected, lowest, highest, spread,        \
                 meaning)                                                      \
  double member = expected;
#include "hethub/Predictor/Constants.def"
};

struct ConstantInfo {
  double Constants::*member;
  llvm::StringRef name, unit;
  double expected, lowest, highest, spread;
  llvm::StringRef meaning;
};

llvm::ArrayRef<ConstantInfo> constantInfos();

/// A node of like accelerators and the network between nodes.
struct Machine {
  double peakFlops = 0;   ///< FLOP/s of one accelerator, dense, in the
                          ///< training type.
  double memoryBytes = 0; ///< Of one accelerator.
  int acceleratorsPerNode = 1;
  double nodeBandwidth = 0; ///< bytes/s of one accelerator to others of its
                            ///< node; of all-reduces only where the table has
                            ///< no such rank count.
  double networkBandwidth = 0; ///< bytes/s of one node, in each direction.
  double valueBytes = 2;       ///< Of an activation or gradient.
  int vocabulary = 0;
  bool checkpointing = true; ///< Activations are computed again where a model
                             ///< is too large to keep them.
  AllReduceTable allReduce;
};

struct Calibration {
  Machine machine;
  Constants constants;
};

/// Refuses missing, unknown and impossible figures by their path in the file:
/// "constants.matmul_efficiency must be ...".
llvm::Expected<Calibration> calibrationFromJSON(const llvm::json::Value &value);

/// Names to figures; each constant exactly once, within its bounds.
llvm::Expected<Constants> constantsFromJSON(const llvm::json::Value &value);

} // namespace hethub::predictor

#endif
