//===- Passes.td - the backward pass as programs -----------*- tablegen -*-===//

#ifndef HETHUB_DIFFERENTIATE_PASSES
#define HETHUB_DIFFERENTIATE_PASSES

include "mlir/Pass/PassBase.td"

def Differentiate : Pass<"hh-differentiate", "::mlir::ModuleOp"> {
  let summary = "makes of each stage's program its forward, backward and weight programs";
  let description = [{
    Nothing runs under autograd: the backward pass is made here, by a rule an operator (lib/Differentiate/Rules), and can
    be read, checked and scheduled like the forward pass. From the result marked `hh.loss`, whose gradient is
    1 / `microbatches`, back through all stages each call hands gradients to its operands; those of received values go
    back on channels of their own. What results is cut into the programs that docs/Training.md describes.

    ```mlir
    hh.program @stage_1() -> (tensor<f32> {hh.loss, onnx.index = 0 : i64, onnx.name = "loss"}) ... {
      %h = hh.recv on 0 from 0 : tensor<4xf32>
      %w = hh.get_parameter @w : tensor<4xf32>
      %y = aten.mul.Tensor(%h, %w) : ...
      %loss = aten.sum.dim_IntList(%y) {dim = array<i64: 0>} : ...
      hh.return %loss : tensor<f32>
    }
    // becomes
    hh.program @stage_1() -> (tensor<f32> {hh.loss, ...}, tensor<4xf32> {hh.saved = 0 : i64}) ... {
      ...
      hh.return %loss, %h : tensor<f32>, tensor<4xf32>
    }
    hh.program @stage_1_backward(%h: tensor<4xf32> {hh.saved = 0 : i64}) -> (tensor<4xf32> {hh.gradient = @w})
        attributes {part = "backward", ...} {
      %g = ...                                      // 1 / microbatches, expanded
      %w = hh.get_parameter @w : tensor<4xf32>      // read again, not saved
      %gh = aten.mul.Tensor(%g, %w) : ...
      %gw = aten.mul.Tensor(%g, %h) : ...
      hh.send %gh on 1 to 0 {pack} : tensor<4xf32>
      hh.return %gw : tensor<4xf32>
    }
    ```

    Parameters whose name matches one of `frozen` (glob patterns) get no gradient. A program with the attribute
    `hh.recompute` saves what it receives, and its backward program begins with a copy of what is needed of it. With
    `split-weight` what only gradients of parameters need is a third program. Outputs other than the loss and new values
    of parameters are dropped, and a schedule, which is one of the forward pass alone.

    Operators without a rule are reported at their nodes, all at once, and the module stays as it was.
  }];
  let options = [
    Option<"microbatches", "microbatches", "unsigned", "1", "microbatches of a step, over which the loss is the mean">,
    Option<"splitWeight", "split-weight", "bool", "false", "gradients of parameters in programs of their own">,
    ListOption<"frozen", "frozen", "std::string", "parameters that are not trained: glob patterns of names">,
  ];
  let dependentDialects = ["::hethub::aten::ATenDialect", "::hethub::hh::HHDialect"];
}

#endif // HETHUB_DIFFERENTIATE_PASSES
