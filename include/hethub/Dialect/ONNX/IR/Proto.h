//===- Proto.h - ONNX messages to MLIR types and attributes ----*- C++ -*-===//
//
// Both directions, for the inference adapter, Import and Export. Includes the
// onnx library's headers: only files that are compiled with exceptions may
// include this one.
//===----------------------------------------------------------------------===//

#ifndef HETHUB_DIALECT_ONNX_IR_PROTO_H
#define HETHUB_DIALECT_ONNX_IR_PROTO_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "onnx/onnx_pb.h"

#include <optional>
#include <string>

namespace hethub::ox {

/// The MLIR type of an ONNX element type number; null for a number that no
/// version of the format has.
mlir::Type elementFromProto(int elementType, mlir::MLIRContext *context);
/// The ONNX element type number of an MLIR element type; 0 where there is none.
int elementToProto(mlir::Type elementType);
/// "float", "int64", ...; the number itself where it is unknown.
std::string elementName(int elementType);
/// Bits that one element takes in raw data (4-bit elements are packed); 0 for
/// strings and unknown types.
int elementBits(int elementType);

/// A tensor type without a shape becomes unranked, an unset or negative dim
/// dynamic, a type that is not set !onnx.unknown. Null where an element type is
/// unknown or sparse.
mlir::Type typeFromProto(const ::onnx::TypeProto &type,
                         mlir::MLIRContext *context);
/// Leaves the message without a value for !onnx.unknown.
::onnx::TypeProto typeToProto(mlir::Type type);

/// Number of elements, or nothing where a dim is negative or the product
/// overflows.
std::optional<int64_t> elementCount(const ::onnx::TensorProto &tensor);
/// Bytes of the values as raw data; nothing where the count is invalid or
/// elements have no fixed size.
std::optional<int64_t> rawByteCount(const ::onnx::TensorProto &tensor);

/// The values in the form that ONNX defines for raw_data: little-endian,
/// elements of less than a byte packed. Reads raw_data or the typed field. The
/// tensor must not be external.
std::string rawBytes(const ::onnx::TensorProto &tensor);

/// A dense attribute from raw bytes in the form of rawBytes().
mlir::DenseElementsAttr denseFromRaw(mlir::RankedTensorType type,
                                     llvm::StringRef raw);
/// A dense attribute from a tensor message that holds its data.
mlir::DenseElementsAttr tensorFromProto(const ::onnx::TensorProto &tensor,
                                        mlir::MLIRContext *context);
/// The message of a dense attribute, data in raw_data (strings in string_data).
::onnx::TensorProto tensorToProto(mlir::DenseElementsAttr value);

/// The attribute of a message; null for graphs, sparse tensors and kinds
/// without an MLIR form.
mlir::Attribute attributeFromProto(const ::onnx::AttributeProto &attribute,
                                   mlir::MLIRContext *context);
/// False where the attribute has no ONNX form.
bool attributeToProto(llvm::StringRef name, mlir::Attribute value,
                      ::onnx::AttributeProto &attribute);

} // namespace hethub::ox

#endif // HETHUB_DIALECT_ONNX_IR_PROTO_H
