//===- Types.h - MLIR types and constants as the stage program has them ---===//

#ifndef HETHUB_EMIT_PROGRAM_TYPES_H
#define HETHUB_EMIT_PROGRAM_TYPES_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"

#include <optional>
#include <string>

namespace hethub {
class TensorType;
}

namespace hethub::emit {

/// Number of hethub.DType (those of ONNX) for an element type; nothing for
/// types that no program can hold.
std::optional<int> dtypeNumber(mlir::Type elementType);

/// Name that weight files have for an element type ("F32"); empty for types
/// that no file has.
llvm::StringRef safetensorsName(mlir::Type elementType);

/// Bytes of a tensor in a file, where elements of less than a byte are packed.
int64_t fileBytes(mlir::RankedTensorType type);

/// Fills dtype and dims (-1 for dynamic ones). False where the element type has
/// no number.
bool setTensorType(mlir::RankedTensorType type, TensorType &out);

/// Little-endian, row-major bytes of a dense constant as they are held: a bool
/// or smaller number in a byte.
std::string constantBytes(mlir::DenseElementsAttr value);

} // namespace hethub::emit

#endif // HETHUB_EMIT_PROGRAM_TYPES_H
