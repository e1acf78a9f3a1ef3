// hh-plan --format dnn-partitioning.
#include "Formats.h"

#include "hethub/Planner/DnnPartitioning.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace hethub::planner;

namespace hethub::plan {

static std::string name(const PlacementProblem &problem, Device device) {
  return problem.classes[device.deviceClass].name +
         std::to_string(device.index);
}

static json::Object toJSON(const PlacementProblem &problem,
                           const Placement &placement) {
  json::Object assignment;
  if (placement.status != Placement::Status::Found) {
    json::Object object{
        {"objective", nullptr},
        {"infeasible", placement.status == Placement::Status::Infeasible},
        {"reason", placement.reason},
        {"assignment", std::move(assignment)}};
    object["lower_bound"] = placement.status == Placement::Status::Infeasible
                                ? json::Value(nullptr)
                                : json::Value(placement.lowerBound);
    if (placement.missingBytes > 0) {
      object["missing_memory_bytes"] = placement.missingBytes;
      object["missing_memory_proven"] = placement.memoryProven;
    }
    return object;
  }
  for (unsigned node = 0; node < problem.nodes.size(); ++node)
    assignment[problem.nodes[node].name] =
        name(problem, placement.devices[node]);
  json::Array notes;
  for (const std::string &note : placement.notes)
    notes.push_back(note);
  return json::Object{{"objective", placement.objective},
                      {"lower_bound", placement.lowerBound},
                      {"gap", placement.gap()},
                      {"notes", std::move(notes)},
                      {"assignment", std::move(assignment)}};
}

static std::string toTable(const PlacementProblem &problem,
                           const Placement &placement) {
  std::string text;
  raw_string_ostream stream(text);
  stream << formatv("objective   {0:f6}\nlower bound {1:f6}\ngap         "
                    "{2:f4} %\n\n",
                    placement.objective, placement.lowerBound,
                    100 * placement.gap());
  stream << formatv("{0,-8} {1,6} {2,14} {3,14} {4,14} {5,16}\n", "device",
                    "nodes", "load", "compute", "transfer", "memory bytes");
  for (const DeviceLoad &load : deviceLoads(problem, placement.devices))
    stream << formatv("{0,-8} {1,6} {2,14:f6} {3,14:f6} {4,14:f6} {5,16:f0}\n",
                      name(problem, load.device), load.nodeCount,
                      load.seconds(), load.computeSeconds, load.transferSeconds,
                      load.memoryBytes);
  for (const std::string &note : placement.notes)
    stream << "note: " << note << "\n";
  return text;
}

Expected<Answer> solveDnnPartitioning(StringRef text, StringRef fileName,
                                      const Request &request) {
  Expected<PlacementProblem> problem = readDnnPartitioning(text, fileName);
  if (!problem)
    return problem.takeError();
  if (request.accelerators)
    problem->classes[0].count = *request.accelerators;
  if (request.cpus)
    problem->classes[1].count = *request.cpus;
  if (request.memoryBytes)
    problem->classes[0].memoryBytes = *request.memoryBytes;
  PlacementOptions options;
  options.mode =
      request.mode == "free" ? PlacementMode::Free : PlacementMode::Contiguous;
  options.objective = request.objective == "latency"
                          ? PlacementObjective::Latency
                          : PlacementObjective::Throughput;
  options.timeLimitSeconds = request.timeLimitSeconds;
  options.seed = request.seed;
  Expected<Placement> placement = findPlacement(*problem, options);
  if (!placement)
    return createStringError(inconvertibleErrorCode(),
                             fileName + ": " + toString(placement.takeError()));
  Answer answer;
  answer.json = toJSON(*problem, *placement);
  if (placement->status == Placement::Status::Found)
    answer.table = toTable(*problem, *placement);
  else
    answer.failure = (fileName + ": " + placement->reason).str();
  return answer;
}

} // namespace hethub::plan
