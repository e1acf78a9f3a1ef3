// The gradients of one rank: summed over microbatches, then over the ranks that
// have the same parameter.
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
  /// in, for each of StageSpec::trained. Opens the communicators of all sums:
  /// all ranks must construct theirs at the same point.
  Gradients(const StageSpec &spec, int rank, const std::vector<Step> &steps,
            std::vector<at::ScalarType> types, at::Device device,
            const GroupOf &groupOf);

  /// Takes the gradients among a function's outputs, in the order of rows.
  /// Those that are undefined must have been taken early.
  void take(Action action, Tensors &outputs);

  /// Whether sums over ranks may start while the next function of this kind
  /// runs: it is the last one that gives its gradients.
  bool wantsEarly(Action action) const;
  /// Takes one output of the function that runs.
  void takeEarly(Action action, size_t output, at::Tensor gradient);

  /// Waits for the sums over ranks.
  void finish();

  /// Of StageSpec::trained, in order, after finish(). The next take() starts
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
  struct Buffer {
    at::ScalarType type;
    at::Tensor sum;         ///< undefined: nothing yet
    at::Tensor flat;        ///< its place in a bucket; undefined: in none
    int rows = 0, left = 0; ///< that give a gradient in a step
  };
  void makeGroups(const GroupOf &groupOf, at::Device device);
  void add(Buffer &buffer, at::Tensor gradient);
  void startReady();

  const StageSpec &spec_;
  Place place_;
  std::vector<Buffer> buffers_; ///< by position in StageSpec::trained
  std::map<std::string, size_t> positions_;
  std::vector<Group> groups_;
};

/// All replicas of the stages, in order.
std::vector<int> ranksOf(const StageSpec &spec, const std::vector<int> &stages);

} // namespace hethub::runtime
