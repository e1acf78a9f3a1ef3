//===- Literals.h - numbers, shapes and types as C++ text ------*- C++ -*-===//

#ifndef HETHUB_LIB_EMIT_CPP_LITERALS_H
#define HETHUB_LIB_EMIT_CPP_LITERALS_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"

#include <string>

namespace hethub::emit {

std::string literal(int64_t value);
/// The shortest text that reads back as the same double; infinities and NaN by
/// name.
std::string literal(double value);
/// "{2, 3}"
std::string literal(llvm::ArrayRef<int64_t> values);
std::string literal(llvm::ArrayRef<double> values);
std::string literal(llvm::ArrayRef<bool> values);

/// "at::kFloat"; empty for types LibTorch does not have.
llvm::StringRef scalarType(mlir::Type elementType);
/// The same for a hethub.DType.
llvm::StringRef scalarType(int dtype);

/// "rt::constantInts({2}, at::kLong, {3, -1}, device)"
std::string constant(mlir::DenseElementsAttr value);

} // namespace hethub::emit

#endif // HETHUB_LIB_EMIT_CPP_LITERALS_H
