// The gradients of one rank: summed over microbatches, then over the stages of
// the rank and over the ranks that have the same parameter.
#pragma once

#include "hethub/runtime/Comm.h"
#include "hethub/runtime/Executor.h"

#include <functional>
#include <vector>

namespace hethub::runtime {

class Gradients {
public:
  using GroupOf = std::function<Comm &(const std::vector<int> &ranks)>;

  /// `steps` are those of one step of the rank. `types` are the types to sum
  /// in, for each of `trainedOf(stages)`. Opens the communicators of all sums:
  /// all ranks must construct theirs at the same point.
  Gradients(RankStages stages, int rank, const std::vector<Step> &steps,
            const std::vector<at::ScalarType> &types, at::Device device,
            const GroupOf &groupOf);

  /// Takes the gradients among the outputs of a function of stage `place` of
  /// the rank, in the order of rows. Those that are undefined must have been
  /// taken early.
  void take(size_t place, Action action, Tensors &outputs);

  /// Whether a function of this kind gives gradients. They are taken where they
  /// are computed: those of a microbatch never stand beside the sums all at
  /// once, and sums over ranks start while the last function runs.
  bool wantsEarly(size_t place, Action action) const;
  /// Takes one output of the function that runs.
  void takeEarly(size_t place, Action action, size_t output,
                 at::Tensor gradient);

  /// Waits for the sums over ranks.
  void finish();

  /// Of `trainedOf(stages)`, in order, after finish(). The next take() starts
  /// anew.
  std::vector<at::Tensor> handOver();

  /// Sum of squares of the gradients that this rank answers for: each parameter
  /// counts on one rank of the run.
  double squares(const std::vector<at::Tensor> &gradients) const;
  /// Whether this rank answers for a parameter.
  bool answersFor(const TrainedSpec &parameter) const;

private:
  /// Gradients that are summed over ranks as one tensor.
  struct Bucket {
    std::vector<size_t> parameters;
    at::Tensor flat;
    WorkPtr work;
  };
  /// The ranks of some parameters, with their buckets in the order of the sums:
  /// the same on all of them.
  struct Group {
    std::vector<int> ranks;
    Comm *comm = nullptr;
    std::vector<Bucket> buckets;
    size_t started = 0;
  };
  /// What one stage of the rank adds up.
  struct Share {
    size_t place;
    at::Tensor sum;         ///< undefined: nothing yet
    int rows = 0, left = 0; ///< that give a gradient in a step
  };
  struct Parameter {
    TrainedSpec spec;
    at::ScalarType type;
    at::Tensor flat;           ///< its place in a bucket; undefined: in none
    std::vector<Share> shares; ///< by stage
    bool isReady() const;
  };
  void makeGroups(const GroupOf &groupOf, at::Device device);
  Share &shareOf(size_t place, const std::string &parameter);
  const Share &shareOf(size_t place, const std::string &parameter) const;
  void add(size_t place, const std::string &parameter, at::Tensor gradient);
  at::Tensor sumOfShares(Parameter &parameter);
  void startReady();

  RankStages stages_;
  std::vector<Place> places_;
  std::vector<Parameter> parameters_; ///< as `trainedOf` has them
  std::map<std::string, size_t> positions_;
  std::vector<Group> groups_;
};

/// The parameters that a rank trains: those of its stages, each once.
std::vector<TrainedSpec> trainedOf(const RankStages &stages);

/// All ranks of the stages, ascending.
std::vector<int> ranksOf(const StageSpec &spec, const std::vector<int> &stages);

} // namespace hethub::runtime
