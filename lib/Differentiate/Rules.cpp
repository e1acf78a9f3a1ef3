//===- Rules.cpp - the table of all rules ---------------------------------===//

#include "Derivation.h"

namespace hethub::differentiate {

/// Windows, ranges and constants depend on no tensor.
static void addMakerRules(RuleTable &table) {
  for (const char *name :
       {"arange.start_step", "blackman_window.periodic", "eye.m", "full",
        "hamming_window.periodic_alpha_beta", "hann_window.periodic"})
    table[("aten::" + llvm::Twine(name)).str()] = nullptr;
}

const RuleTable &rules() {
  static const RuleTable table = [] {
    RuleTable made;
    addElementwiseRules(made);
    addActivationRules(made);
    addReductionRules(made);
    addViewRules(made);
    addIndexingRules(made);
    addLinearRules(made);
    addConvolutionRules(made);
    addPoolingRules(made);
    addNormalizationRules(made);
    addAttentionRules(made);
    addLossRules(made);
    addRecurrentRules(made);
    addMakerRules(made);
    return made;
  }();
  return table;
}

} // namespace hethub::differentiate
