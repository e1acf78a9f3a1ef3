// hh-plan --format piper.
#include "Formats.h"

#include "hethub/Planner/Piper.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace hethub::planner::piper;

namespace hethub::plan {

/// A plan is what was asked for: what it lacks is not searched for longer.
static constexpr double needSeconds = 10;

static json::Object toJSON(const Problem &problem, const Plan &plan) {
  json::Array notes;
  for (const std::string &note : plan.notes)
    notes.push_back(note);
  json::Object object{{"objective", nullptr},
                      {"lower_bound", nullptr},
                      {"infeasible", plan.infeasible()},
                      {"notes", std::move(notes)},
                      {"stages", stagesToJSON(problem, plan.stages)}};
  if (!plan.infeasible())
    object["lower_bound"] = plan.lowerBound;
  if (plan.found()) {
    object["objective"] = plan.secondsPerSample;
    object["gap"] = plan.gap();
  }
  return object;
}

static std::string toTable(const Problem &problem, const Plan &plan) {
  std::string text;
  raw_string_ostream stream(text);
  stream << formatv("time per sample {0:f9}\nlower bound     {1:f9}\n"
                    "gap             {2:f4} %\n\n",
                    plan.secondsPerSample, plan.lowerBound, 100 * plan.gap());
  stream << formatv("{0,5} {1,6} {2,5} {3,7} {4,9} {5,14} {6,16}  {7}\n",
                    "stage", "nodes", "data", "tensor", "in flight", "load",
                    "memory bytes", "variants");
  for (unsigned index = 0; index < plan.stages.size(); ++index) {
    const Stage &stage = plan.stages[index];
    std::map<std::string, unsigned> variants;
    for (size_t position = 0; position < stage.layers.size(); ++position)
      ++variants[problem.layers[stage.layers[position]]
                     .variants.at(stage.tensorDegree)[stage.variants[position]]
                     .id];
    stream << formatv("{0,5} {1,6} {2,5} {3,7} {4,9} {5,14:f9} {6,16:f0} ",
                      index, stage.layers.size(), stage.dataDegree,
                      stage.tensorDegree, stage.inFlight, stage.load,
                      stage.memoryBytes);
    for (const auto &[id, count] : variants)
      stream << " " << count << " " << id;
    stream << "\n";
  }
  for (const std::string &note : plan.notes)
    stream << "note: " << note << "\n";
  return text;
}

Expected<Answer> solvePiper(StringRef text, StringRef fileName,
                            const Request &request) {
  Expected<Problem> problem = parseProblem(text, fileName);
  if (!problem)
    return problem.takeError();
  if (request.devices)
    problem->devices = *request.devices;
  if (request.microbatches)
    problem->microbatches = *request.microbatches;
  if (request.memoryBytes)
    problem->memoryBytes = *request.memoryBytes;
  if (request.bandwidth)
    problem->bandwidth = *request.bandwidth;
  if (Error error = verifyProblem(*problem))
    return createStringError(inconvertibleErrorCode(),
                             fileName + ": " + toString(std::move(error)));

  Options options;
  options.timeLimitSeconds = request.timeLimitSeconds;
  options.seed = request.seed;
  const Plan plan = findPlan(*problem, options);
  Answer answer;
  answer.json = toJSON(*problem, plan);
  if (plan.found()) {
    answer.table = toTable(*problem, plan);
  } else if (plan.infeasible()) {
    answer.failure = formatv("{0}: no plan fits in {1:f0} bytes of memory on "
                             "{2} devices",
                             fileName, problem->memoryBytes, problem->devices);
    options.timeLimitSeconds = std::min(options.timeLimitSeconds, needSeconds);
    if (std::optional<MemoryNeed> need = smallestMemory(*problem, options)) {
      const double missing = need->bytes - problem->memoryBytes;
      answer.json["missing_memory_bytes"] = missing;
      answer.json["missing_memory_proven"] = need->least;
      answer.failure += formatv(": {0:f0} bytes more would do", missing);
    }
  } else {
    answer.failure = (fileName + ": no plan was found in the time limit").str();
  }
  return answer;
}

} // namespace hethub::plan
