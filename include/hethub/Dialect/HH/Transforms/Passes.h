//===- Passes.h - passes of the hh dialect ---------------------*- C++ -*-===//

#ifndef HETHUB_DIALECT_HH_TRANSFORMS_PASSES_H
#define HETHUB_DIALECT_HH_TRANSFORMS_PASSES_H

#include "mlir/Pass/Pass.h"

namespace hethub::hh {

#define GEN_PASS_DECL
#include "hethub/Dialect/HH/Transforms/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "hethub/Dialect/HH/Transforms/Passes.h.inc"

} // namespace hethub::hh

#endif // HETHUB_DIALECT_HH_TRANSFORMS_PASSES_H
