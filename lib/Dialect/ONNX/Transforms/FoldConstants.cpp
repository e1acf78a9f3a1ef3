#include "hethub/Dialect/ONNX/Transforms/Passes.h"
#include "mlir/IR/BuiltinOps.h"
namespace hethub::ox {
#define GEN_PASS_DEF_FOLDCONSTANTS
#include "hethub/Dialect/ONNX/Transforms/Passes.h.inc"
struct FoldConstants : impl::FoldConstantsBase<FoldConstants> {
  using FoldConstantsBase::FoldConstantsBase;
  void runOnOperation() override {}
};
}
