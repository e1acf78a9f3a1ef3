// The options in one table: name, what it takes, where it goes, help.
#include "OptionTable.h"
#include "hethub/runtime/Error.h"

#include <charconv>

using namespace hethub::runtime;

double hethub::runtime::numberOf(const char *option, const std::string &text,
                                 double lowest) {
  double result = 0;
  auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), result);
  if (error != std::errc() || end != text.data() + text.size() ||
      !(result >= lowest) || result > 1e9)
    fail(option, " must be a number of at least ", lowest, ", got: ", text);
  return result;
}

int64_t hethub::runtime::wholeOf(const char *option, const std::string &text,
                                 int64_t lowest) {
  double result = numberOf(option, text, static_cast<double>(lowest));
  if (result != static_cast<double>(static_cast<int64_t>(result)))
    fail(option, " must be a whole number, got: ", text);
  return static_cast<int64_t>(result);
}

namespace {
int whole(const char *option, const std::string &text) {
  return static_cast<int>(wholeOf(option, text, 1));
}

const std::vector<OptionRow> &table() {
  static const std::vector<OptionRow> rows = {
      {"--inputs", "FILE.npz", "model inputs, keys are the ONNX names",
       [](RunOptions &o, const std::string &v) { o.inputs = v; }},
      {"--outputs", "FILE.npz", "where model outputs go",
       [](RunOptions &o, const std::string &v) { o.outputs = v; }},
      {"--positional", nullptr,
       "call outputs out0, out1, ... in graph order instead of by name",
       [](RunOptions &o, const std::string &) { o.positional = true; }},
      {"--microbatches", "M",
       "split axis 0 of the inputs in M runs of the model (default 1)",
       [](RunOptions &o, const std::string &v) {
         o.microbatches = whole("--microbatches", v);
       }},
      {"--repeats", "N",
       "run the same inputs N times without a pause, for timing (default 1)",
       [](RunOptions &o, const std::string &v) {
         o.repeats = whole("--repeats", v);
       }},
      {"--drain", nullptr,
       "start each repeat on all ranks together, when the last one has ended",
       [](RunOptions &o, const std::string &) { o.drain = true; }},
      {"--threads", "N", "threads of LibTorch a rank (default 1)",
       [](RunOptions &o, const std::string &v) {
         o.threads = whole("--threads", v);
       }},
      {"--timeout", "SECONDS",
       "longest wait for a message or for another rank (default 300)",
       [](RunOptions &o, const std::string &v) {
         o.timeoutS = numberOf("--timeout", v, 0.5);
       }},
      {"--ahead", "N", "receives posted ahead on each channel (default 4)",
       [](RunOptions &o, const std::string &v) {
         o.ahead = whole("--ahead", v);
       }},
      {"--weights", "FILE",
       "weights manifest or .safetensors instead of the stage's weights.json",
       [](RunOptions &o, const std::string &v) { o.weights = v; }},
      {"--trace", "FILE",
       "write a Chrome trace (open it in Perfetto); with several ranks "
       "FILE.rankN",
       [](RunOptions &o, const std::string &v) { o.trace = v; }},
      {"--stats", "FILE",
       "write one line of JSON with times and memory; with several ranks "
       "FILE.rankN",
       [](RunOptions &o, const std::string &v) { o.stats = v; }},
  };
  return rows;
}

const OptionRow *findRow(const std::vector<OptionRow> &rows,
                         const std::string &name) {
  for (const OptionRow &row : rows)
    if (name == row.name)
      return &row;
  return nullptr;
}

std::string helpOf(const std::vector<OptionRow> &rows) {
  std::string text;
  for (const OptionRow &row : rows) {
    std::string left = std::string("  ") + row.name +
                       (row.takes ? std::string(" ") + row.takes : "");
    left.resize(std::max<size_t>(left.size() + 2, 26), ' ');
    text += left + row.help + "\n";
  }
  return text;
}
} // namespace

RunOptions
hethub::runtime::takeRunOptions(std::vector<std::string> &arguments) {
  RunOptions options;
  std::vector<std::string> rest;
  for (size_t i = 0; i < arguments.size(); ++i) {
    // Both "--name value" and "--name=value".
    std::string name = arguments[i], value;
    size_t equals = name.find('=');
    bool attached = name.starts_with("--") && equals != std::string::npos;
    if (attached) {
      value = name.substr(equals + 1);
      name.resize(equals);
    }
    const OptionRow *found = findRow(table(), name);
    if (!found && (found = findRow(trainOptionRows(), name)))
      options.train.given = true;
    if (!found) {
      rest.push_back(arguments[i]);
      continue;
    }
    if (!found->takes && attached)
      fail(name, " takes no value, got: ", value);
    if (found->takes && !attached) {
      if (i + 1 == arguments.size())
        fail(name, " needs a value: ", found->takes);
      value = arguments[++i];
    }
    found->set(options, value);
  }
  arguments = std::move(rest);
  return options;
}

std::string hethub::runtime::runOptionsHelp() {
  return helpOf(table()) + "\noptions of training programs:\n" +
         helpOf(trainOptionRows());
}
