//===- WeightsManifest.h - where the parameters of a stage are -*- C++ -*-===//

#ifndef HETHUB_EMIT_PROGRAM_WEIGHTSMANIFEST_H
#define HETHUB_EMIT_PROGRAM_WEIGHTSMANIFEST_H

#include "hethub/Dialect/HH/Transforms/StageParts.h"

namespace hethub::emit {

/// Writes `folder`/weights.json for the parameters that the stage reads:
/// name, file, offset, length, dtype and shape of each. Bytes stay where they
/// are, except for parameters that the model file holds in a form that is not
/// raw bytes, or all of them when `pack`: those go to
/// `folder`/weights.safetensors, one parameter at a time.
llvm::LogicalResult writeWeights(const hh::StageParts &stage,
                                 llvm::StringRef folder, bool pack);

} // namespace hethub::emit

#endif // HETHUB_EMIT_PROGRAM_WEIGHTSMANIFEST_H
