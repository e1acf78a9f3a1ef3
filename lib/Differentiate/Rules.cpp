//===- Rules.cpp - the table of all rules ---------------------------------===//

#include "Derivation.h"

namespace hethub::differentiate {

void addNullRules(RuleTable &table, llvm::ArrayRef<llvm::StringRef> names) {
  for (llvm::StringRef name : names)
    table[("aten::" + name).str()] = nullptr;
}

/// Windows, ranges and constants depend on no tensor.
static void addMakerRules(RuleTable &table) {
  addNullRules(table, {"arange.start_step", "blackman_window.periodic", "eye.m",
                       "full", "hamming_window.periodic_alpha_beta",
                       "hann_window.periodic"});
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
