//===- Passes.td - passes of the cost model ------------------*- tablegen -*-===//

#ifndef HETHUB_COST_PASSES
#define HETHUB_COST_PASSES

include "mlir/Pass/PassBase.td"

def AnnotateCost : Pass<"hh-annotate-cost", "::mlir::ModuleOp"> {
  let summary = "puts on every operation what it costs on each device type";
  let description = [{
    Gives every `onnx.*` operation of `@main` an `hh.cost`: FLOPs, bytes moved, bytes kept for backward, bytes of
    parameters, and for each device type the forward and backward seconds. Seconds come from the profile of the device
    type where it has the operation's signature, else from a roofline; docs/Cost.md has the formulas.

    ```mlir
    %2 = onnx.MatMul(%1, %0) : (tensor<64x256xf32>, tensor<256x768xf32>) -> (tensor<64x768xf32>)
    // --hh-load-cluster=stages=2 --hh-annotate-cost
    %2 = onnx.MatMul(%1, %0) {hh.cost = #hh.cost<flops = 25165824, moved = 1048576, kept = 65536,
      parameters = 786432, seconds = {cpu = array<f64: 4.0e-4, 8.1e-4>}>} : ...
    ```

    All shapes must be static: the dimensions that the model leaves open are named in one error. Sizes that depend on
    data (NonZero) count as 1, with a warning. The device types are those that hh-load-cluster put into the module.
    `kept` counts a value at the first operation that keeps it; operations that no parameter reaches, or only ones that
    are `frozen`, have no backward part. With `training`, seconds have a third figure, what gradients of parameters take
    of the backward time, and a parameter that is not trained gets `hh.frozen`. With `split-backward` a profile's times of
    backward passes in two parts count, those of programs for zero-bubble schedules. What depends on parameters and constants alone is computed once, when a program is loaded, and takes no time of
    a microbatch: except with `training`, where parameters change.
  }];
  let options = [
    Option<"training", "training", "bool", "false", "costs of a training step: operations on parameters alone run for each microbatch">,
    Option<"splitBackward", "split-backward", "bool", "false", "gradients of parameters have a program of their own">,
    ListOption<"frozen", "frozen", "std::string", "parameters without a gradient: glob patterns of names">,
  ];
  let dependentDialects = ["::hethub::hh::HHDialect"];
}

#endif // HETHUB_COST_PASSES
