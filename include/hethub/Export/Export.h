//===- Export.h - from the onnx dialect to an ONNX file --------*- C++ -*-===//

#ifndef HETHUB_EXPORT_EXPORT_H
#define HETHUB_EXPORT_EXPORT_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringRef.h"

#include <string>

namespace hethub::exporter {

struct ExportOptions {
  /// Of the default domain; 0: the newest. `ownOpset`: the file's own, or the
  /// next one at which all nodes are what they are.
  int64_t opset = 0;
  bool ownOpset = false;
  /// Copy the weights to PATH.data. Otherwise the file points at where they
  /// are, which must be in its folder or below: the format allows nothing else.
  bool packWeights = false;
};

/// Writes @main of a module of onnx operations as a model. What the importer
/// noted (hethub/Dialect/ONNX/IR/Notes.h) is written again, so that a model
/// that is imported and exported is the model as it was checked, sorted,
/// inlined and converted. Weights of up to 1 KiB stand in the file, others are
/// external data; the time does not depend on their size unless they are
/// copied. Of a partitioned @main each node names its pipeline stage.
///
/// On failure one diagnostic says why, and no file is left.
llvm::LogicalResult exportModel(mlir::ModuleOp module, llvm::StringRef path,
                                const ExportOptions &options = {});

} // namespace hethub::exporter

#endif // HETHUB_EXPORT_EXPORT_H
