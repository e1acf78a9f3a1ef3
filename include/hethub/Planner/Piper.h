// Pipeline, data and tensor parallelism with recomputation on devices of one
// type: the planning problem of Piper (Tarnawski, Narayanan, Phanishayee:
// "Piper: Multidimensional Planner for DNN Parallelization", NeurIPS 2021).
//
// A plan is a list of stages. A stage runs its layers on `dataDegree` replicas
// of `tensorDegree` devices, every layer in one of its variants of that tensor
// degree (plain, recomputing its activations, ...). An edge never leads to an
// earlier stage, the data degrees divide the microbatches of a batch and add up
// to no more than them, the devices used are no more than there are. With
//   y = ceil(sum of the data degrees of this and all later stages / d)
// microbatches in flight, a device of the stage holds sum(A y + B) bytes.
//   load = sum(p) / d + (E / d + sum(4 (d - 1) w / d / N)) / bandwidth
// seconds per microbatch; E counts 2 (bytes + gather) at both ends of every
// edge that leaves or enters the stage. The largest load is minimised.
#ifndef HETHUB_PLANNER_PIPER_H
#define HETHUB_PLANNER_PIPER_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace hethub::planner::piper {

/// One way to run a layer with a tensor degree.
struct Variant {
  std::string id;
  double seconds = 0;         ///< p: forward and backward of one microbatch.
  double parameterBytes = 0;  ///< w, of one device.
  double activationBytes = 0; ///< A, of one microbatch in flight.
  double fixedBytes = 0;      ///< B.
  /// More bytes when that edge leaves the stage, by index of the edge: the
  /// gather of a tensor-parallel result. Edges not named: none.
  std::map<unsigned, double> gatherBytes;
};

struct Layer {
  int64_t id = 0;
  std::string name;
  std::map<unsigned, std::vector<Variant>> variants; ///< By tensor degree.
};

struct Edge {
  unsigned source = 0, target = 0; ///< Indices of layers.
  double bytes = 0;
};

struct Problem {
  std::vector<Layer> layers;
  std::vector<Edge> edges;
  unsigned devices = 0;
  double memoryBytes = 0; ///< Of one device.
  double bandwidth = 0;   ///< Bytes per second.
  unsigned microbatches = 0;
};

struct Stage {
  std::vector<unsigned> layers;   ///< Indices, ascending.
  std::vector<unsigned> variants; ///< Of each layer, among those of the degree.
  unsigned dataDegree = 1;
  unsigned tensorDegree = 1;
  unsigned inFlight = 0; ///< y.
  double load = 0;       ///< Seconds per microbatch.
  double memoryBytes = 0;
};

struct Plan {
  std::vector<Stage> stages; ///< Empty: none found.
  /// The largest load; infinity without a plan.
  double secondsPerSample = std::numeric_limits<double>::infinity();
  /// No plan is faster. Infinity: no plan fits.
  double lowerBound = 0;
  std::vector<std::string> notes; ///< What cut the search short.

  bool found() const { return !stages.empty(); }
  double gap() const {
    return secondsPerSample > 0 ? 1 - lowerBound / secondsPerSample : 0;
  }
  bool infeasible() const {
    return lowerBound == std::numeric_limits<double>::infinity();
  }
};

struct Options {
  double timeLimitSeconds = std::numeric_limits<double>::infinity();
  /// Cuts are searched among all ideals of the graph up to this number; above
  /// it among those of some topological orders.
  unsigned idealLimit = 40000;
  uint64_t seed = 0;
};

/// Refuses a problem with figures that make no sense. One message.
llvm::Error verifyProblem(const Problem &problem);

/// Fills in load, memory and microbatches in flight of every stage, or says
/// which rule the stages break.
llvm::Error evaluate(const Problem &problem, std::vector<Stage> &stages);

/// Of a verified problem.
Plan findPlan(const Problem &problem, const Options &options);

struct MemoryNeed {
  double bytes; ///< Of one device: a plan fits.
  /// No plan fits in a millionth less. false: the search ended early.
  bool least;
};

/// Of a problem without a plan. Nothing when no memory helps, or when it is not
/// known whether it does.
std::optional<MemoryNeed> smallestMemory(Problem problem,
                                         const Options &options);

/// The authors' JSON format.
llvm::Expected<Problem> parseProblem(llvm::StringRef text,
                                     llvm::StringRef fileName);
/// `stages` of a plan file, as the authors' planner writes it.
llvm::json::Array stagesToJSON(const Problem &problem,
                               llvm::ArrayRef<Stage> stages);

} // namespace hethub::planner::piper

#endif
