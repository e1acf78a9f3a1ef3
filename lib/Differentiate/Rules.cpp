//===- Rules.cpp - the table of all rules ---------------------------------===//

#include "Derivation.h"

namespace hethub::differentiate {

void addNullRules(RuleTable &table, llvm::ArrayRef<llvm::StringRef> names) {
  for (llvm::StringRef name : names)
    table[("aten::" + name).str()] = nullptr;
}

/// Results that have no slope: drawn ones, places, integers and what stands for
/// them, and models that are not trained by gradients.
static void addFlatRules(RuleTable &table) {
  addNullRules(table, {"bernoulli", "multinomial", "nonzero"});
  table["hethub::decode_float"] = nullptr;
  table["hethub::dynamic_quantize_lstm"] = nullptr;
  table["hethub::encode_float"] = nullptr;
  table["hethub::lookup_table"] = nullptr;
  table["hethub::non_max_suppression"] = nullptr;
  table["hethub::tree_ensemble"] = nullptr;
  table["hethub::unique"] = nullptr;
}

/// Windows, ranges and constants depend on no tensor.
static void addMakerRules(RuleTable &table) {
  addNullRules(table, {"arange.start_step", "blackman_window.periodic", "eye.m",
                       "full", "hamming_window.periodic_alpha_beta",
                       "hann_window.periodic", "rand", "randn"});
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
    addSignalRules(made);
    addFlatRules(made);
    addMakerRules(made);
    return made;
  }();
  return table;
}

} // namespace hethub::differentiate
