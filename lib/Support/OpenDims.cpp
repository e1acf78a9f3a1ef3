//===- OpenDims.cpp - dimensions that the user has not fixed --------------===//

#include "hethub/Support/OpenDims.h"
#include "hethub/Support/Names.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;

LogicalResult hethub::requireFixedDims(func::FuncOp function) {
  auto open = function->getAttrOfType<ArrayAttr>(openDimsAttrName);
  auto staysOpen = [&](StringAttr name) {
    return open && (llvm::is_contained(open, name) ||
                    llvm::is_contained(
                        open, StringAttr::get(function.getContext(), "*")));
  };
  llvm::SetVector<StringRef> names;
  for (BlockArgument input : function.getArguments()) {
    auto type = dyn_cast<RankedTensorType>(input.getType());
    if (!type || type.hasStaticShape())
      continue;
    auto dims =
        function.getArgAttrOfType<ArrayAttr>(input.getArgNumber(), "onnx.dims");
    for (auto [axis, size] : llvm::enumerate(type.getShape())) {
      if (!ShapedType::isDynamic(size))
        continue;
      auto name = dims && axis < dims.size() ? dyn_cast<StringAttr>(dims[axis])
                                             : StringAttr();
      if (!name || name.empty())
        name = StringAttr::get(function.getContext(),
                               valueName(input) + "[" + Twine(axis) + "]");
      if (!staysOpen(name))
        names.insert(name.getValue());
    }
  }
  if (names.empty())
    return success();
  bool one = names.size() == 1;
  auto error =
      function.emitError(one ? "symbolic dimension " : "symbolic dimensions ");
  llvm::interleave(
      names, [&](StringRef name) { error << "'" << name << "'"; },
      [&] { error << ", "; });
  error << (one ? " has" : " have") << " no size: give";
  for (StringRef name : names)
    error << " --dim " << name << "=N";
  error << " (or =? where programs shall take any size)";
  return error;
}
