//===- Call.h - an aten operation as a call of its schema ------*- C++ -*-===//
//
// What the emitters need of any aten.* operation: the schema's name and, for
// every argument of the schema in order, what the call passes there. Works for
// all operators alike and needs no operator header.
//
//   for (Operation &op : block)
//     if (aten::CallView call = aten::CallView(&op))
//       for (unsigned i = 0; i < call.size(); ++i) {
//         aten::Argument argument = call.argument(i);
//         if (argument.isTensor()) ... argument.values ... else ...
//         argument.attribute ...
//       }
//===----------------------------------------------------------------------===//

#ifndef HETHUB_DIALECT_ATEN_IR_CALL_H
#define HETHUB_DIALECT_ATEN_IR_CALL_H

#include "mlir/IR/Attributes.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/ArrayRef.h"

namespace hethub::aten {

/// Types of schema arguments. Optional ones (`T?`) have the kind of T and
/// `ArgumentLayout::optional`.
enum class Kind {
  Tensor,       ///< an operand
  TensorList,   ///< `Tensor[]`: operands
  Int,          ///< I64Attr (also SymInt)
  Float,        ///< F64Attr
  Bool,         ///< BoolAttr
  Scalar,       ///< I64Attr, F64Attr or BoolAttr
  Ints,         ///< DenseI64ArrayAttr (also SymInt[])
  Floats,       ///< DenseF64ArrayAttr
  Bools,        ///< DenseBoolArrayAttr
  Str,          ///< StrAttr
  ScalarType,   ///< TypeAttr of an element type
  MemoryFormat, ///< I64Attr with the number of a c10::MemoryFormat
  Layout,       ///< never set: strided
  Device,       ///< never set: the device that runs the program
  Generator,    ///< never set: the default generator
};

struct ArgumentLayout {
  const char *name;
  Kind kind;
  bool optional;        ///< `T?`: may be none
  bool elementOptional; ///< `Tensor?[]`: elements may be none
  bool keywordOnly;     ///< stands after `*` in the schema
  /// Text of the default in the schema ("1", "True", "None", "[0, 1]",
  /// "1e-05"); null where an argument is required.
  const char *defaultText;
  int listSize; ///< n of `int[n]`, to which a single default is repeated; 0
                ///< elsewhere
};

/// The description of an operator, made from its schema by
/// utils/gen_aten_ops.py.
struct CallLayout {
  const char *schema;   ///< "aten::add.Tensor", "hethub::avg_pool"
  const char *library;  ///< "aten" or "hethub"
  const char *name;     ///< "add"
  const char *overload; ///< "Tensor"; "" for the default overload
  bool methodOnly; ///< at::Tensor has a method of that name but namespace at no
                   ///< function
  bool symbolicInts; ///< takes SymInt: C++ has at::NAME with int64_t and
                     ///< at::NAME_symint
  const ArgumentLayout *arguments;
  unsigned argumentCount;
  unsigned resultCount; ///< all of them tensors

  llvm::ArrayRef<ArgumentLayout> args() const {
    return {arguments, argumentCount};
  }
};

/// What a call passes for one argument of its schema.
struct Argument {
  const ArgumentLayout *layout;
  /// Tensor: one value, or none for an absent optional one. TensorList: the
  /// elements, null for an absent element.
  llvm::SmallVector<mlir::Value, 2> values;
  /// Others: the attribute, the schema's default where none is set, or null for
  /// None.
  mlir::Attribute attribute;
  /// True where the call leaves the argument to the schema's default.
  bool isDefault;

  bool isTensor() const {
    return layout->kind == Kind::Tensor || layout->kind == Kind::TensorList;
  }
  /// True for an optional argument (or an unset Layout, Device, Generator) that
  /// gets None.
  bool isNone() const {
    if (layout->kind == Kind::TensorList)
      return false;
    return layout->kind == Kind::Tensor ? values.empty() : !attribute;
  }
};

/// An operation as a call; false in a condition where the operation is not of
/// the aten dialect.
class CallView {
public:
  explicit CallView(mlir::Operation *op);

  explicit operator bool() const { return description != nullptr; }
  mlir::Operation *operation() const { return op; }
  const CallLayout &layout() const { return *description; }
  llvm::StringRef schema() const { return description->schema; }

  /// Number of arguments of the schema, those left to their default included.
  unsigned size() const { return description->argumentCount; }
  Argument argument(unsigned position) const;
  /// The argument of that name, which must exist.
  Argument argument(llvm::StringRef name) const;

private:
  mlir::Operation *op;
  const CallLayout *description;
};

/// The layout of a registered operation ("aten.add.Tensor"), or null.
const CallLayout *lookupLayout(llvm::StringRef operation,
                               mlir::MLIRContext *context);

/// The schema's default of an argument as an attribute; null for None, for
/// tensors and where there is none.
mlir::Attribute defaultValue(const ArgumentLayout &argument,
                             mlir::MLIRContext *context);

/// Name of the attribute that says which optional tensors and list elements are
/// there. One entry an optional tensor (0 or 1), one a list (its length), and
/// after a list of optional elements one for each element. Absent where the
/// schema has neither.
constexpr llvm::StringLiteral presentAttrName = "present";

} // namespace hethub::aten

#endif // HETHUB_DIALECT_ATEN_IR_CALL_H
