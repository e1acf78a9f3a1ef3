#include "TrainLog.h"
#include "hethub/runtime/Error.h"

#include <nlohmann/json.hpp>

#include <cerrno>
#include <cstring>

using namespace hethub::runtime;

TrainLog::TrainLog(const TrainOptions &options, int64_t samplesPerStep,
                   int64_t done)
    : options_(options), samplesPerStep_(samplesPerStep), start_(Clock::now()),
      last_(start_) {
  if (options.log.empty())
    return;
  file_.reset(std::fopen(options.log.c_str(), done > 0 ? "a" : "w"));
  if (!file_)
    fail("cannot write ", options.log, ": ", std::strerror(errno));
}

void TrainLog::add(const StepLine &line) {
  // Lines come some steps late: the time is that of the step.
  double seconds = secondsBetween(last_, line.end);
  last_ = line.end;
  double rate =
      seconds > 0 ? static_cast<double>(samplesPerStep_) / seconds : 0;
  if (file_) {
    nlohmann::json json = {{"step", line.step},
                           {"loss", line.loss},
                           {"learning_rate", line.learningRate},
                           {"gradient_norm", nullptr},
                           {"samples_per_s", rate},
                           {"step_s", seconds},
                           {"seconds", secondsBetween(start_, line.end)}};
    if (line.gradientNorm)
      json["gradient_norm"] = *line.gradientNorm;
    std::string text = json.dump() + "\n";
    if (std::fwrite(text.data(), 1, text.size(), file_.get()) != text.size() ||
        std::fflush(file_.get()) != 0)
      fail("cannot write ", options_.log, ": ", std::strerror(errno));
  }
  if (options_.progress) {
    std::printf("step %lld/%lld loss %.6g learning rate %.3g %.4g samples/s\n",
                static_cast<long long>(line.step),
                static_cast<long long>(options_.steps), line.loss,
                line.learningRate, rate);
    std::fflush(stdout);
  }
}
