//===- Passes.td - the backward pass as programs -----------*- tablegen -*-===//

#ifndef HETHUB_DIFFERENTIATE_PASSES
#define HETHUB_DIFFERENTIATE_PASSES

include "mlir/Pass/PassBase.td"

def Differentiate : Pass<"hh-differentiate", "::mlir::ModuleOp"> {
  let summary = "makes of each stage's program its forward, backward and weight programs";
  let description = [{
    Appends to each lowered `hh.program` the calls that compute gradients (a rule an operator, lib/Differentiate/Rules),
    connects the stages by channels that carry gradients back, and cuts what results in the programs F, B and, with
    `split-weight`, W that docs/Training.md describes. The loss is the result marked `hh.loss`; its gradient starts
    with 1 / `microbatches`. Parameters whose name matches one of `frozen` (glob patterns) get no gradient. A program
    with the attribute `hh.recompute` saves its inputs and begins its backward pass with a copy of its forward pass.

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
