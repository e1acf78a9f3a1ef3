//===- RaisePatterns.cpp - decomposed forms back into one operator --------===//

#include "Match.h"

#include "hethub/Dialect/ONNX/Transforms/Passes.h"

#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace hethub::ox {
#define GEN_PASS_DEF_RAISEPATTERNS
#include "hethub/Dialect/ONNX/Transforms/Passes.h.inc"
} // namespace hethub::ox

using namespace mlir;
using namespace hethub;

namespace {
struct RaisePatterns : ox::impl::RaisePatternsBase<RaisePatterns> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext()), views(&getContext());
    ox::raise::addNeutralPatterns(patterns);
    ox::raise::addActivationPatterns(patterns);
    ox::raise::addNormalizationPatterns(patterns);
    ox::raise::addGroupNormalizationPatterns(patterns);
    ox::raise::addAttentionPatterns(patterns);
    ox::raise::addRotaryEmbeddingPatterns(patterns);
    ox::raise::addLinearPatterns(patterns);
    // Not before: the forms above hold the Reshapes that exporters write.
    ox::raise::addViewPatterns(views);
    if (failed(apply(std::move(patterns))) || failed(apply(std::move(views))))
      signalPassFailure();
  }

private:
  LogicalResult apply(RewritePatternSet patterns) {
    // Operands before users, so that a form is seen whole; blocks stay as they
    // are.
    GreedyRewriteConfig config;
    config.setUseTopDownTraversal(true).setRegionSimplificationLevel(
        GreedySimplifyRegionLevel::Disabled);
    return applyPatternsGreedily(getOperation(), std::move(patterns), config);
  }
};
} // namespace
