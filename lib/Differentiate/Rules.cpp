//===- Rules.cpp - the table of all rules ---------------------------------===//

#include "Derivation.h"

namespace hethub::differentiate {

const RuleTable &rules() {
  static const RuleTable table = [] {
    RuleTable made;
    addElementwiseRules(made);
    return made;
  }();
  return table;
}

} // namespace hethub::differentiate
