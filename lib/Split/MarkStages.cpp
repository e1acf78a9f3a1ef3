//===- MarkStages.cpp - a file's own stages on operations -----------------===//

#include "hethub/Split/Split.h"

#include "hethub/Dialect/HH/Transforms/StageMarks.h"
#include "hethub/Support/Names.h"

#include "mlir/IR/Builders.h"

using namespace mlir;

namespace hethub::split {

LogicalResult markAnnotatedStages(ModuleOp module, StringRef path) {
  auto main = module.lookupSymbol<func::FuncOp>("main");
  std::optional<AnnotatedStages> annotated =
      readAnnotatedStages(path, module.getContext());
  if (!main || !annotated)
    return failure();
  Builder builder(module.getContext());
  for (Operation &op : main.getOps())
    for (Value result : op.getResults())
      if (auto found = annotated->stageOf.find(valueName(result));
          found != annotated->stageOf.end()) {
        op.setAttr(hh::stageMarkAttrName,
                   builder.getI64IntegerAttr(found->second));
        break;
      }
  SmallVector<StringRef> devices(annotated->devices.begin(),
                                 annotated->devices.end());
  main->setAttr(hh::deviceMarksAttrName, builder.getStrArrayAttr(devices));
  return success();
}

} // namespace hethub::split
