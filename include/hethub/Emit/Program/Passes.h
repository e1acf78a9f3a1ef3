//===- Passes.h - what emission needs before lowering ----------*- C++ -*-===//

#ifndef HETHUB_EMIT_PROGRAM_PASSES_H
#define HETHUB_EMIT_PROGRAM_PASSES_H

#include "mlir/Pass/Pass.h"

namespace hethub::emit {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "hethub/Emit/Program/Passes.h.inc"

} // namespace hethub::emit

#endif // HETHUB_EMIT_PROGRAM_PASSES_H
