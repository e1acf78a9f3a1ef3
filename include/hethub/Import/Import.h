//===- Import.h - from an ONNX file to the onnx dialect --------*- C++ -*-===//

#ifndef HETHUB_IMPORT_IMPORT_H
#define HETHUB_IMPORT_IMPORT_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/raw_ostream.h"

#include <string>

namespace hethub::hh {
class ParameterOp;
} // namespace hethub::hh

namespace hethub::import {

/// Imports a model: checks it, sorts its nodes, inlines its functions, converts
/// it to the newest opset and builds one `onnx.*` operation a node in
/// `func.func @main`. Weights become `hh.parameter` symbols that point into the
/// model file or its external data (paths as seen from the working directory);
/// their bytes are not read.
///
/// On failure one diagnostic names the file, the node and what is wrong, and
/// the result is null.
mlir::OwningOpRef<mlir::ModuleOp> importModel(llvm::StringRef path,
                                              mlir::MLIRContext *context);

/// The bytes of a parameter in the form that ONNX defines for raw data:
/// little-endian, elements of less than a byte packed. Serves both sources, a
/// slice of a file and a tensor of the model file.
llvm::Expected<std::string> readParameterBytes(hh::ParameterOp parameter);

/// Writes the same bytes; a slice of a file is mapped, not read, so that a copy
/// costs no more memory than the page cache.
llvm::Error copyParameterBytes(hh::ParameterOp parameter,
                               llvm::raw_ostream &os);

/// The domain under which files have an operator: the import gives some
/// another one.
llvm::StringRef domainInFiles(llvm::StringRef domain, llvm::StringRef opType);

/// The opset of the default domain from which on no version changed what a node
/// of this operator means; 0 where it is not known.
int64_t unchangedSince(llvm::StringRef opType);

} // namespace hethub::import

#endif // HETHUB_IMPORT_IMPORT_H
