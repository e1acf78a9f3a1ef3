//===- Passes.h - the backward pass as programs ----------------*- C++ -*-===//

#ifndef HETHUB_DIFFERENTIATE_PASSES_H
#define HETHUB_DIFFERENTIATE_PASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

#include <string>

namespace hethub::differentiate {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "hethub/Differentiate/Passes.h.inc"

} // namespace hethub::differentiate

#endif // HETHUB_DIFFERENTIATE_PASSES_H
