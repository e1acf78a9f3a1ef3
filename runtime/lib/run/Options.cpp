// The options in one table: name, what it takes, where it goes, help.
#include "hethub/runtime/Options.h"
#include "hethub/runtime/Error.h"

#include <charconv>
#include <functional>

using namespace hethub::runtime;

namespace {
double number(const std::string &option, const std::string &value,
              double lowest) {
  double result = 0;
  auto [end, error] =
      std::from_chars(value.data(), value.data() + value.size(), result);
  if (error != std::errc() || end != value.data() + value.size() ||
      !(result >= lowest) || result > 1e9)
    fail(option, " must be a number of at least ", lowest, ", got: ", value);
  return result;
}

int whole(const std::string &option, const std::string &value) {
  double result = number(option, value, 1);
  if (result != static_cast<int>(result))
    fail(option, " must be a whole number, got: ", value);
  return static_cast<int>(result);
}

struct Row {
  const char *name;
  const char *takes; ///< null: a flag
  const char *help;
  std::function<void(RunOptions &, const std::string &)> set;
};

const std::vector<Row> &table() {
  static const std::vector<Row> rows = {
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
         o.timeoutS = number("--timeout", v, 0.5);
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
    const Row *found = nullptr;
    for (const Row &row : table())
      if (name == row.name)
        found = &row;
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
  std::string text;
  for (const Row &row : table()) {
    std::string left = std::string("  ") + row.name +
                       (row.takes ? std::string(" ") + row.takes : "");
    left.resize(std::max<size_t>(left.size() + 2, 26), ' ');
    text += left + row.help + "\n";
  }
  return text;
}
