//===- RecordTypicalSizes.cpp - what open dims usually are ----------------===//
//
// A copy of the model with the typical sizes goes through inference and folding
// like a model whose dims are fixed; the types of its values stand for those of
// the same names. What the copy folds away keeps its own type.
//===----------------------------------------------------------------------===//

#include "hethub/Dialect/HH/IR/HHDialect.h"
#include "hethub/Dialect/ONNX/Transforms/Passes.h"
#include "hethub/Support/Names.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;

namespace hethub::ox {

#define GEN_PASS_DEF_RECORDTYPICALSIZES
#include "hethub/Dialect/ONNX/Transforms/Passes.h.inc"

namespace {

bool isOpen(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && !tensor.hasStaticShape();
}

struct RecordTypicalSizes : impl::RecordTypicalSizesBase<RecordTypicalSizes> {
  using RecordTypicalSizesBase::RecordTypicalSizesBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto main = module.lookupSymbol<func::FuncOp>("main");
    if (!main || main.isExternal())
      return;
    // Passes run on what is below the module that this one runs on.
    ModuleOp sized = module.clone();
    module.push_back(sized);
    SpecializeDimsOptions options;
    options.dims.assign(dims.begin(), dims.end());
    OpPassManager passes(ModuleOp::getOperationName());
    passes.addPass(createSpecializeDims(options));
    passes.addPass(createInferShapes());
    passes.addPass(createFoldConstants());
    LogicalResult ran = runPipeline(passes, sized);
    if (succeeded(ran))
      record(main, sized.lookupSymbol<func::FuncOp>("main"));
    sized.erase();
    if (failed(ran))
      signalPassFailure();
  }

private:
  void record(func::FuncOp main, func::FuncOp sized) {
    llvm::StringMap<Type> types;
    for (Operation &op : sized.getBody().front())
      for (Value result : op.getResults())
        if (std::string name = valueName(result); !name.empty())
          types[name] = result.getType();
    for (BlockArgument argument : main.getArguments())
      if (isOpen(argument.getType()))
        main.setArgAttr(
            argument.getArgNumber(), hh::typicalTypeAttrName,
            TypeAttr::get(
                sized.getArgument(argument.getArgNumber()).getType()));
    for (Operation &op : main.getBody().front()) {
      if (llvm::none_of(op.getResultTypes(), isOpen))
        continue;
      SmallVector<Attribute> known;
      for (Value result : op.getResults()) {
        auto found = types.find(valueName(result));
        known.push_back(TypeAttr::get(found == types.end() ? result.getType()
                                                           : found->second));
      }
      op.setAttr(hh::typicalTypesAttrName,
                 ArrayAttr::get(&getContext(), known));
    }
  }
};

} // namespace
} // namespace hethub::ox
