//===- Notes.h - what a file says of a node, kept in locations -*- C++ -*-===//
//
// Doc strings, metadata, declared types and placements do not change what a
// model computes, so they must not keep equal operations apart. They travel
// with names, in the metadata of locations:
//
//   loc("node"(fused<{doc = "...", results = ["tensor", ...]}>["scope"]))
//===----------------------------------------------------------------------===//

#ifndef HETHUB_SUPPORT_NOTES_H
#define HETHUB_SUPPORT_NOTES_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Location.h"

namespace hethub {

/// `loc` (of makeNodeLoc, or a name alone) with notes; those of the same name
/// are replaced.
mlir::Location withNotes(mlir::Location loc,
                         llvm::ArrayRef<mlir::NamedAttribute> notes);

/// The note of that name on a location, or null.
mlir::Attribute note(mlir::Location loc, llvm::StringRef name);

template <typename T>
T noteOf(mlir::Location loc, llvm::StringRef name) {
  return llvm::dyn_cast_or_null<T>(note(loc, name));
}

} // namespace hethub

#endif // HETHUB_SUPPORT_NOTES_H
