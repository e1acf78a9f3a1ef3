// The options of training programs.
#include "OptionTable.h"
#include "hethub/runtime/Error.h"

#include <algorithm>
#include <charconv>

using namespace hethub::runtime;

namespace {
using Options = RunOptions;
using Text = std::string;

std::string oneOf(const char *option, const Text &text,
                  std::initializer_list<const char *> names) {
  if (std::none_of(names.begin(), names.end(),
                   [&](const char *name) { return text == name; })) {
    std::string all;
    for (const char *name : names)
      all += (all.empty() ? "" : ", ") + std::string(name);
    fail(option, " must be one of ", all, ", got: ", text);
  }
  return text;
}

/// Below 1: betas and momentum of one and more never forget.
double fraction(const char *option, const Text &text) {
  double value = numberOf(option, text, 0);
  if (value >= 1)
    fail(option, " must be less than 1, got: ", text);
  return value;
}

uint64_t seedOf(const char *option, const Text &text) {
  uint64_t value = 0;
  auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size())
    fail(option, " must be a whole number of at most 64 bits, got: ", text);
  return value;
}
} // namespace

const std::vector<OptionRow> &hethub::runtime::trainOptionRows() {
  static const std::vector<OptionRow> rows = {
      {"--data", "FILE",
       ".npz or .safetensors (arrays by the names of the model's inputs, axis "
       "0: samples), or tokens",
       [](Options &o, const Text &v) { o.train.data.file = v; }},
      {"--sequence", "N", "token file: tokens of one sample",
       [](Options &o, const Text &v) {
         o.train.data.sequence = wholeOf("--sequence", v, 1);
       }},
      {"--token-type", "TYPE", "token file: uint16 (default) or uint32",
       [](Options &o, const Text &v) {
         o.train.data.tokenType =
             oneOf("--token-type", v, {"uint16", "uint32"});
       }},
      {"--in-order", nullptr, "do not shuffle the samples",
       [](Options &o, const Text &) { o.train.data.inOrder = true; }},
      {"--steps", "N", "steps of the whole run, those before a resume included",
       [](Options &o, const Text &v) {
         o.train.steps = wholeOf("--steps", v, 1);
       }},
      {"--seed", "N", "of the order of the samples and of dropout (default 0)",
       [](Options &o, const Text &v) { o.train.seed = seedOf("--seed", v); }},
      {"--optimizer", "NAME", "sgd, adam or adamw (default)",
       [](Options &o, const Text &v) {
         o.train.optimizer.name =
             oneOf("--optimizer", v, {"sgd", "adam", "adamw"});
       }},
      {"--learning-rate", "X", "default 0.001",
       [](Options &o, const Text &v) {
         o.train.optimizer.learningRate = numberOf("--learning-rate", v, 0);
       }},
      {"--momentum", "X", "of sgd (default 0)",
       [](Options &o, const Text &v) {
         o.train.optimizer.momentum = fraction("--momentum", v);
       }},
      {"--nesterov", nullptr, "Nesterov's form of momentum",
       [](Options &o, const Text &) { o.train.optimizer.nesterov = true; }},
      {"--betas", "B1,B2", "of adam and adamw (default 0.9,0.999)",
       [](Options &o, const Text &v) {
         size_t comma = v.find(',');
         if (comma == std::string::npos)
           fail("--betas must be two numbers with a comma between, got: ", v);
         o.train.optimizer.beta1 = fraction("--betas", v.substr(0, comma));
         o.train.optimizer.beta2 = fraction("--betas", v.substr(comma + 1));
       }},
      {"--epsilon", "X", "of adam and adamw (default 1e-8)",
       [](Options &o, const Text &v) {
         o.train.optimizer.epsilon = numberOf("--epsilon", v, 0);
       }},
      {"--weight-decay", "X",
       "default 0.01 for adamw, else 0; not for parameters of one axis",
       [](Options &o, const Text &v) {
         o.train.optimizer.weightDecay = numberOf("--weight-decay", v, 0);
       }},
      {"--decay-all", nullptr, "weight decay for parameters of one axis too",
       [](Options &o, const Text &) { o.train.optimizer.decayAll = true; }},
      {"--clip-norm", "X",
       "scale all gradients together to at most this norm (default: not)",
       [](Options &o, const Text &v) {
         o.train.optimizer.clipNorm = numberOf("--clip-norm", v, 0);
       }},
      {"--lr-schedule", "NAME",
       "constant (default), cosine or linear, down to the minimum at the last "
       "step",
       [](Options &o, const Text &v) {
         o.train.learningRate.schedule =
             oneOf("--lr-schedule", v, {"constant", "cosine", "linear"});
       }},
      {"--warmup-steps", "N", "in which the learning rate rises (default 0)",
       [](Options &o, const Text &v) {
         o.train.learningRate.warmupSteps = wholeOf("--warmup-steps", v, 0);
       }},
      {"--minimum-learning-rate", "X", "of cosine and linear (default 0)",
       [](Options &o, const Text &v) {
         o.train.learningRate.minimum =
             numberOf("--minimum-learning-rate", v, 0);
       }},
      {"--checkpoint", "DIR", "where checkpoints are kept (default: none)",
       [](Options &o, const Text &v) { o.train.checkpoint.folder = v; }},
      {"--checkpoint-every", "N",
       "steps between two checkpoints; the last step has one too (default 100)",
       [](Options &o, const Text &v) {
         o.train.checkpoint.every = wholeOf("--checkpoint-every", v, 1);
       }},
      {"--keep", "K", "newest checkpoints to keep, 0: all (default 3)",
       [](Options &o, const Text &v) {
         o.train.checkpoint.kept = static_cast<int>(wholeOf("--keep", v, 0));
       }},
      {"--resume", nullptr, "go on from the newest checkpoint of --checkpoint",
       [](Options &o, const Text &) { o.train.checkpoint.resume = true; }},
      {"--log", "FILE",
       "a line of JSON for each step: loss, learning rate, gradient norm, "
       "samples a second",
       [](Options &o, const Text &v) { o.train.log = v; }},
      {"--progress", nullptr, "a line for each step on stdout",
       [](Options &o, const Text &) { o.train.progress = true; }},
      {"--gradients", "FILE.npz",
       "write the summed gradients of the first step; with several ranks "
       "FILE.npz.rankN",
       [](Options &o, const Text &v) { o.train.gradients = v; }},
      {"--trace-steps", "N", "first steps of the run in --trace (default 3)",
       [](Options &o, const Text &v) {
         o.train.traceSteps = static_cast<int>(wholeOf("--trace-steps", v, 1));
       }},
      {"--ignore-nonfinite", nullptr,
       "go on when the loss is not a finite number",
       [](Options &o, const Text &) { o.train.ignoreNonFinite = true; }},
  };
  return rows;
}
