//===- Notes.h - what a file says beside what it computes ------*- C++ -*-===//
//
// Doc strings, metadata, declared types of values and placements on devices as
// attributes, for locations (hethub/Support/Notes.h) and for `onnx.model` of
// the module. The importer writes them, the exporter reads them.
//===----------------------------------------------------------------------===//

#ifndef HETHUB_DIALECT_ONNX_IR_NOTES_H
#define HETHUB_DIALECT_ONNX_IR_NOTES_H

#include "mlir/IR/Builders.h"
#include "onnx/onnx_pb.h"

namespace hethub::ox {

/// On the module: what the model says of itself.
constexpr llvm::StringLiteral modelAttrName = "onnx.model";

using Notes = llvm::SmallVector<mlir::NamedAttribute>;
using Pairs =
    ::google::protobuf::RepeatedPtrField<::onnx::StringStringEntryProto>;

/// Keys and values by turns, in their order.
mlir::ArrayAttr pairsToAttr(const Pairs &pairs, mlir::MLIRContext *context);
void pairsFromAttr(mlir::Attribute attribute, Pairs &pairs);

/// Adds `doc` and `metadata` where there are some.
void addTexts(const std::string &doc, const Pairs &metadata,
              mlir::MLIRContext *context, Notes &notes);

/// `doc`, `metadata` and `devices` of a node.
Notes notesOfNode(const ::onnx::NodeProto &node, mlir::MLIRContext *context);
void notesToNode(mlir::Location loc, ::onnx::NodeProto &node);

/// Names of the symbolic dims of a tensor, also of one inside sequences and
/// optionals; empty ones for others, null where there is none. "?" stands for
/// an unknown dim, not for a symbol.
mlir::ArrayAttr dimNames(const ::onnx::TypeProto &type,
                         mlir::MLIRContext *context);
/// A declaration: `type`, and `dims`, `doc` and `metadata` where there are
/// some.
mlir::DictionaryAttr declarationOf(const ::onnx::ValueInfoProto &info,
                                   mlir::MLIRContext *context);
/// The message of a declaration. Where `known`, a type that may be null, has a
/// size, that stands in place of a symbol; a type that contradicts it is not
/// taken over.
void declarationToProto(mlir::DictionaryAttr declaration, mlir::Type known,
                        ::onnx::ValueInfoProto &info);
/// Names of symbolic dims into a tensor type's shape, where its dims are open.
void setDimNames(mlir::ArrayAttr names, ::onnx::TypeProto &type);

/// The pipeline stage that the file wants for a node; nothing where it wants
/// none. With several configurations the first one counts.
std::optional<int64_t> annotatedStage(mlir::Location loc);

/// `onnx.model`: names, versions, docs and metadata of model and graph.
mlir::DictionaryAttr factsOfModel(const ::onnx::ModelProto &model,
                                  mlir::MLIRContext *context);
/// All but the opset of the default domain.
void factsToModel(mlir::DictionaryAttr facts, ::onnx::ModelProto &model);

} // namespace hethub::ox

#endif // HETHUB_DIALECT_ONNX_IR_NOTES_H
