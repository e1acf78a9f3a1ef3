//===- Origins.cpp - which model node a lowered call came from ------------===//

#include "hethub/Emit/Program/Origins.h"
#include "hethub/Emit/Program/Passes.h"

#include "hethub.pb.h"
#include "hethub/Cost/Signature.h"
#include "hethub/Dialect/HH/IR/HHDialect.h"
#include "hethub/Dialect/ONNX/IR/Node.h"
#include "hethub/Support/Names.h"

using namespace mlir;

namespace hethub::emit {

static constexpr StringLiteral originsAttrName = "hh.origins";

#define GEN_PASS_DEF_RECORDORIGINS
#include "hethub/Emit/Program/Passes.h.inc"

namespace {
struct RecordOriginsPass : impl::RecordOriginsBase<RecordOriginsPass> {
  void runOnOperation() override;
};
} // namespace

void RecordOriginsPass::runOnOperation() {
  ModuleOp module = getOperation();
  Builder builder(module.getContext());
  SmallVector<Attribute> entries;
  for (auto program : module.getOps<hh::ProgramOp>())
    program.walk([&](Operation *op) {
      if (!ox::isNode(op))
        return;
      auto index = builder.getI64IntegerAttr(entries.size());
      entries.push_back(builder.getDictionaryAttr(
          {builder.getNamedAttr("name", builder.getStringAttr(nodeName(op))),
           builder.getNamedAttr(
               "op", builder.getStringAttr(op->getName().getStringRef())),
           builder.getNamedAttr("scope",
                                builder.getStringAttr(scopeOf(op->getLoc()))),
           builder.getNamedAttr(
               "signature", builder.getStringAttr(cost::signatureOf(op)))}));
      op->setLoc(FusedLoc::get(module.getContext(), {op->getLoc()}, index));
    });
  module->setAttr(originsAttrName, builder.getArrayAttr(entries));
}

OriginTable::OriginTable(ModuleOp module)
    : entries(module->getAttrOfType<ArrayAttr>(originsAttrName)) {}

int64_t OriginTable::indexOf(Location loc) const {
  auto fused = dyn_cast<FusedLoc>(loc);
  if (!fused)
    return -1;
  if (auto index = dyn_cast_or_null<IntegerAttr>(fused.getMetadata()))
    return index.getInt();
  // Lowering several nodes into one call fuses their locations: the last is the
  // pattern's root.
  for (Location part : llvm::reverse(fused.getLocations()))
    if (int64_t index = indexOf(part); index >= 0)
      return index;
  return -1;
}

Origin OriginTable::at(int64_t index, Location loc) const {
  Origin origin;
  if (index < 0 || !entries || index >= static_cast<int64_t>(entries.size())) {
    origin.set_name(nodeName(loc).str());
    origin.set_scope(scopeOf(loc).str());
    return origin;
  }
  auto entry = cast<DictionaryAttr>(entries[index]);
  auto text = [&](StringRef key) { return entry.getAs<StringAttr>(key).str(); };
  origin.set_name(text("name"));
  origin.set_op(text("op"));
  origin.set_scope(text("scope"));
  origin.set_signature(text("signature"));
  return origin;
}

} // namespace hethub::emit
