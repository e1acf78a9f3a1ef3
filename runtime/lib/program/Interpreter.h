// Runs the functions of a StageProgram through LibTorch's boxed dispatcher:
// trying a model needs no C++ compiler. Operators are looked up, arguments
// checked against schemas and last uses computed once, when the program is
// loaded.
#pragma once

#include "hethub.pb.h"
#include "hethub/runtime/Stage.h"
#include "hethub/runtime/Weights.h"

#include <functional>
#include <memory>

namespace hethub::runtime {

/// Told of each call: index of its origin, and seconds.
using CallTimer = std::function<void(int origin, double seconds)>;

class Interpreter {
public:
  /// Throws Error that lists all unknown operators and wrong arguments at once,
  /// with the model's node names.
  explicit Interpreter(std::shared_ptr<const StageProgram> program);
  ~Interpreter();

  /// Reads weights and constants and runs "start_up" where there is one.
  void load(WeightsFile &weights);

  /// Runs "forward".
  Tensors forward(Tensors inputs, const CallTimer *timer = nullptr) {
    return run("forward", std::move(inputs), timer);
  }
  /// Runs the function `name`; functions share parameters, constants and what
  /// start-up made of them, and nothing else.
  /// Gradients of parameters go to `early` where it is given.
  Tensors run(const std::string &name, Tensors inputs,
              const CallTimer *timer = nullptr, const Early *early = nullptr);

  bool has(const std::string &name) const;
  /// Whether a function draws random numbers.
  bool isRandom() const;
  const StageProgram &program() const;

  struct Impl;

private:
  std::unique_ptr<Impl> impl_;
};

/// The program's Load function for the runtime.
Load loaderOf(std::shared_ptr<const StageProgram> program);

} // namespace hethub::runtime
