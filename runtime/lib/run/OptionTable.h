// A row for each command-line option: name, what it takes, help, where it goes.
#pragma once

#include "hethub/runtime/Options.h"

#include <functional>

namespace hethub::runtime {

struct OptionRow {
  const char *name;
  const char *takes; ///< null: a flag
  const char *help;
  std::function<void(RunOptions &, const std::string &)> set;
};

/// Options of training.
const std::vector<OptionRow> &trainOptionRows();

/// A number of at least `lowest` and at most 1e9; Error that names the option.
double numberOf(const char *option, const std::string &text, double lowest);
/// The same without a fraction.
int64_t wholeOf(const char *option, const std::string &text, int64_t lowest);

} // namespace hethub::runtime
