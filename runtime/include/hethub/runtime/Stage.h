// What a stage program hands to the runtime: a StageSpec (tables of ports,
// channels and schedule rows) and a Load function that turns weights into the
// stage's functions. An emitted program is
//
//   #include "hethub/runtime/Stage.h"
//   #include "hethub/runtime/Weights.h"
//   #include <ATen/ops/linear.h>              // one header for each operator
//   used
//
//   struct Weights {                          // one member for each parameter,
//   and what start-up makes of them
//     at::Tensor dense_weight;
//     explicit Weights(rt::WeightsFile &file)
//         : dense_weight(file.get("dense.weight", at::kFloat, {4, 8})) {}
//   };
//   rt::Tensors forward(const Weights &w, rt::Tensors inputs) { ...
//   at::linear(x, w.dense_weight) ... } const rt::StageSpec spec{ ... }; // the
//   table int main(int argc, char **argv) { return rt::runStage(spec,
//   rt::bind<Weights>(forward), argc, argv); }
//
// with `namespace rt = hethub::runtime`. runtime/test/example_stage is a whole
// one. The interpreter of program files fills the same structures from a
// StageProgram (proto/hethub.proto), where each field is described in full.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace hethub::runtime {

using Tensors = std::vector<at::Tensor>;
using Shape = std::vector<int64_t>;
class WeightsFile;

/// All stages of the plan in order. Ranks count through stages and, within a
/// stage, through replicas, unless stages are interleaved.
struct DeviceSpec {
  std::string type;            ///< name in cluster.yaml
  std::string kind;            ///< "cpu", "cuda", "rocm"
  int replicas = 1;            ///< microbatch j runs on replica j mod replicas
  double emulatedSlowdown = 0; ///< 0: not emulated
  double profiledForwardS = 0; ///< seconds of one forward on the real device
  double profiledBackwardS = 0, profiledWeightS = 0; ///< of the other functions
  /// Of its first replica; -1: after all ranks of the stages before. A rank
  /// with several stages is interleaved: it has shares of the model that lie
  /// apart.
  int firstRank = -1;
};

/// An input or output of a function, in the order of its arguments and results.
/// Exactly one of `channel` (the tensor travels from or to another stage),
/// `index` (position among the model's own inputs or outputs), `saved`,
/// `gradientOf` and `updateOf` is set.
struct PortSpec {
  std::string name; ///< the model's name of the tensor
  at::ScalarType dtype;
  Shape shape; ///< of one microbatch; -1: known only at run time
  int channel = -1;
  int index = -1;
  // Training programs (docs/Training.md).
  int saved = -1;           ///< slot that is kept from one function to the next
  std::string gradientOf{}; ///< output: gradient of this parameter
  std::string updateOf{};   ///< output: new value of this parameter
  bool isLoss = false;      ///< output: the loss of one microbatch
  bool isOpen = false; ///< a sequence, an optional or a tensor of any rank:
                       ///< nothing is checked
  bool isText = false; ///< strings, held as numbers of a table (DynamicOps.h)
};

/// Ports of one function.
struct FunctionSpec {
  std::vector<PortSpec> inputs;
  std::vector<PortSpec> outputs;
};

/// A parameter that gets gradients.
struct TrainedSpec {
  std::string name;
  at::ScalarType dtype;
  Shape shape;
  std::vector<int> stages; ///< whose gradients are summed, this one among them
};

/// A directed edge between two stages that carries one tensor per microbatch.
struct ChannelSpec {
  int id;
  std::string name;
  int fromStage;
  int toStage;
  at::ScalarType dtype;
  Shape shape;
  double emulatedLatencyS = 0;
  double emulatedBytesPerS = 0; ///< both 0: not emulated
  bool viaHost = false;   ///< through host memory, although the devices share a
                          ///< library of their own
  int64_t chunkBytes = 0; ///< of pieces on the way; 0: as the runtime sees fit
};

/// Numbers are those of hethub.Action in proto/hethub.proto.
enum class Action {
  Receive = 1,
  Forward = 2,
  Send = 3,
  Backward = 4,
  Weight = 5,
  AllReduce = 6,
  OptimizerStep = 7
};

/// One row of this stage's schedule; rows stand in the order in which the stage
/// issues them.
struct RowSpec {
  Action action;
  int channel = -1;
  int microbatch = 0;  ///< used where the schedule is a whole step
  int replica = 0;     ///< used where the schedule is a whole step
  int peerReplica = 0; ///< used where the schedule is a whole step
  int position = 0;    ///< among the rows of its rank, where that has several
                       ///< stages
};

struct StageSpec {
  std::string model;    ///< name for messages
  std::string planHash; ///< equal on all ranks of a run
  int stage = 0;        ///< index of this program's stage
  std::vector<DeviceSpec> stages;
  std::vector<PortSpec> inputs;
  std::vector<PortSpec> outputs;
  std::vector<ChannelSpec>
      channels;              ///< those that this stage sends or receives on
  bool perMicrobatch = true; ///< rows describe one microbatch and repeat; else
                             ///< `microbatches` of them
  int microbatches = 1;
  std::vector<RowSpec> rows;
  int64_t microbatchAxisSize =
      0; ///< size of axis 0 of the batched inputs; 0: samples are not counted
  // Training programs; the rows are a whole step.
  bool training = false;
  FunctionSpec backward{},
      weight{}; ///< without outputs where a stage lacks one
  std::vector<TrainedSpec> trained{};
};

/// Inputs and outputs in the order of StageSpec's ports. Inputs are handed
/// over: a function may release each one
/// (`inputs[0].reset()`) after its last use, so that memory is that of the live
/// values alone.
using Forward = std::function<Tensors(Tensors inputs)>;

/// Takes an output as soon as it is computed; its place among the results stays
/// undefined.
using Early = std::function<void(size_t output, at::Tensor value)>;

/// What a stage runs. `backward` and `weight` are empty where its program has
/// none. All three read the tensors that WeightsFile::get gave, which training
/// changes in place.
struct Functions {
  Forward forward{}, backward{}, weight{};
  bool isRandom = true; ///< may draw random numbers
  /// Optional: backward and weight, giving gradients of parameters early, so
  /// that their sums over ranks run beside the rest of the function.
  std::function<Tensors(Tensors inputs, const Early &early)> earlyBackward{},
      earlyWeight{};
};

/// Reads the weights, runs the start-up computations on them and returns the
/// stage's functions.
using Load = std::function<Functions(WeightsFile &weights)>;

/// A function of an emitted program, or none. One that takes an Early gives
/// gradients of parameters to it.
template <typename W>
struct Emitted {
  Tensors (*plain)(const W &, Tensors) = nullptr;
  Tensors (*early)(const W &, Tensors, const Early &) = nullptr;

  Emitted() = default;
  Emitted(Tensors (*function)(const W &, Tensors)) : plain(function) {}
  Emitted(Tensors (*function)(const W &, Tensors, const Early &))
      : early(function) {}

  /// With all outputs among the results.
  Tensors run(const W &weights, Tensors inputs) const {
    if (plain)
      return plain(weights, std::move(inputs));
    Tensors given;
    Tensors outputs =
        early(weights, std::move(inputs), [&](size_t output, at::Tensor value) {
          if (given.size() <= output)
            given.resize(output + 1);
          given[output] = std::move(value);
        });
    for (size_t i = 0; i < given.size(); ++i)
      if (given[i].defined())
        outputs[i] = std::move(given[i]);
    return outputs;
  }
};

/// The usual Load: `W` is a struct with a constructor W(WeightsFile &).
template <typename W>
Load bind(Emitted<W> forward, Emitted<W> backward = {},
          Emitted<W> weight = {}) {
  return [=](WeightsFile &file) -> Functions {
    auto weights = std::make_shared<const W>(file);
    auto of = [weights](Emitted<W> function) -> Forward {
      if (!function.plain && !function.early)
        return {};
      return [function, weights](Tensors inputs) {
        return function.run(*weights, std::move(inputs));
      };
    };
    Functions functions{of(forward), of(backward), of(weight)};
    auto earlyOf = [weights](Emitted<W> function) {
      return [function, weights](Tensors inputs, const Early &early) {
        return function.early(*weights, std::move(inputs), early);
      };
    };
    if (backward.early)
      functions.earlyBackward = earlyOf(backward);
    if (weight.early)
      functions.earlyWeight = earlyOf(weight);
    return functions;
  };
}

/// Runs this stage as one rank of the plan: reads options (see --help) and the
/// environment of torchrun, srun or `hethub run`, agrees with the other ranks,
/// runs the schedule and writes outputs. Returns the exit code: 0, or 1 after
/// one message on stderr that names rank, stage and reason. A program that
/// needs a weights manifest finds weights.json beside the executable or in the
/// folder above it, unless --weights names another.
int runStage(const StageSpec &spec, const Load &load, int argc, char **argv);

/// A stage of an emitted program.
struct EmittedStage {
  const StageSpec &spec;
  Load load;
};

/// The same for a rank that has several stages, in order. Weights of those
/// behind the first are those of the folders stage_K beside the first one's.
int runStages(const std::vector<EmittedStage> &stages, int argc, char **argv);

} // namespace hethub::runtime
