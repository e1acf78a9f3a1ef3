//===- Passes.td - passes of the hh dialect ----------------*- tablegen -*-===//

#ifndef HETHUB_DIALECT_HH_TRANSFORMS_PASSES
#define HETHUB_DIALECT_HH_TRANSFORMS_PASSES

include "mlir/Pass/PassBase.td"

#endif // HETHUB_DIALECT_HH_TRANSFORMS_PASSES
