//===- Diagnostics.h - messages in the model's own names -------*- C++ -*-===//

#ifndef HETHUB_SUPPORT_DIAGNOSTICS_H
#define HETHUB_SUPPORT_DIAGNOSTICS_H

#include "mlir/IR/Diagnostics.h"

namespace hethub {

/// Prints diagnostics for people who know the model but not MLIR: "error: node
/// 'fc1' (m.h.0.mlp): message", notes below it, locations that say nothing left
/// out.
class ModelDiagnostics : public mlir::ScopedDiagnosticHandler {
public:
  explicit ModelDiagnostics(mlir::MLIRContext *context);
};

} // namespace hethub

#endif // HETHUB_SUPPORT_DIAGNOSTICS_H
