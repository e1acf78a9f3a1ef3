//===- Origins.h - which model node a lowered call came from ---*- C++ -*-===//
//
// Before lowering, each node's location is wrapped in a fused location that
// carries its number; lowering keeps locations, so every call can be traced to
// its node, whose operation and signature stand in a module attribute.
//===----------------------------------------------------------------------===//

#ifndef HETHUB_EMIT_PROGRAM_ORIGINS_H
#define HETHUB_EMIT_PROGRAM_ORIGINS_H

#include "mlir/IR/BuiltinOps.h"

namespace hethub {
class Origin;
}

namespace hethub::emit {

/// Reads what the pass hh-record-origins left.
class OriginTable {
public:
  explicit OriginTable(mlir::ModuleOp module);
  /// The number recorded at a location, or -1.
  int64_t indexOf(mlir::Location loc) const;
  /// The origin of that number; for -1, one made of the location's name alone.
  Origin at(int64_t index, mlir::Location loc) const;

private:
  mlir::ArrayAttr entries;
};

} // namespace hethub::emit

#endif // HETHUB_EMIT_PROGRAM_ORIGINS_H
