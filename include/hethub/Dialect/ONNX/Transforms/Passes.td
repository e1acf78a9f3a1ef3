//===- Passes.td - passes of the onnx dialect ----------------*- tablegen -*-===//

#ifndef HETHUB_DIALECT_ONNX_TRANSFORMS_PASSES
#define HETHUB_DIALECT_ONNX_TRANSFORMS_PASSES

include "mlir/Pass/PassBase.td"

def SpecializeDims : Pass<"onnx-specialize-dims", "::mlir::ModuleOp"> {
  let summary = "fixes symbolic dims of the model's inputs by name";
  let description = [{
    Exporters name the dims that may vary (`batch`, `seq`). Costs, memory and stage programs need numbers, so this
    gives the named dims their sizes. Only the types of the function's arguments change; onnx-infer-shapes carries
    them on. Dims that are not named here stay dynamic.

    With `dims=batch=2,seq=32`:

    ```mlir
    func.func @main(%x: tensor<?x?xi64> {onnx.dims = ["batch", "seq"], onnx.name = "input_ids"})
    // becomes
    func.func @main(%x: tensor<2x32xi64> {onnx.dims = ["batch", "seq"], onnx.name = "input_ids"})
    ```

    A dim without a name is called by its input and axis: `dims=image[2]=48`. A name that no input has is an error,
    which lists the names that there are. `dims=batch=?` keeps a dim open on purpose, `dims=*=?` all that have no size:
    programs then take any size of them (`hh.open_dims` of the function). `dims=batch=?8` says what it typically is, for
    costs (onnx-record-typical-sizes).
  }];
  let options = [
    ListOption<"dims", "dims", "std::string", "names and sizes of dims: batch=2,seq=32">,
  ];
}

def KeepOperation : Pass<"onnx-keep-operation", "::mlir::ModuleOp"> {
  let summary = "gives a model of constants and inputs alone an Identity";
  let description = [{
    Stages are made of operations; where folding leaves none, as of a model that gives the shape of its input, the first
    output passes through one:

    ```mlir
    return %shape : tensor<2xi64>
    // becomes
    %y = onnx.Identity(%shape) : (tensor<2xi64>) -> (tensor<2xi64>)
    return %y : tensor<2xi64>
    ```
  }];
}

def RecordTypicalSizes : Pass<"onnx-record-typical-sizes", "::mlir::ModuleOp"> {
  let summary = "notes the types that values have where open dims have their typical sizes";
  let description = [{
    Programs may take any size of a dim, while costs and plans want numbers. With `dims=batch=8`:

    ```mlir
    %y = onnx.Relu(%x) : (tensor<?x4xf32>) -> (tensor<?x4xf32>)
    // becomes
    %y = onnx.Relu(%x) {hh.typical_types = [tensor<8x4xf32>]} : (tensor<?x4xf32>) -> (tensor<?x4xf32>)
    ```
  }];
  let options = [
    ListOption<"dims", "dims", "std::string", "names and typical sizes of dims: batch=8">,
  ];
}

def InferShapes : Pass<"onnx-infer-shapes", "::mlir::ModuleOp"> {
  let summary = "makes result types as exact as ONNX's own inference can";
  let description = [{
    Runs the inference and data propagation functions of the ONNX library over all operations in order, sub-graphs
    included, and gives the function the types of what it returns.

    ```mlir
    %y = onnx.MatMul(%x, %w) : (tensor<2x32x8xf32>, tensor<8x4xf32>) -> (tensor<?x?x4xf32>)
    // becomes
    %y = onnx.MatMul(%x, %w) : (tensor<2x32x8xf32>, tensor<8x4xf32>) -> (tensor<2x32x4xf32>)
    ```
  }];
}

def FoldConstants : Pass<"onnx-fold-constants", "::mlir::ModuleOp"> {
  let summary = "evaluates small constant tensors, so that shape arithmetic disappears";
  let description = [{
    Exporters write shapes as arithmetic: `Shape`, `Gather`, `Concat`, `Reshape`. This evaluates operations on
    constants of up to `max-elements` elements, replaces an `If` with a constant condition by its branch and removes
    operations that do nothing, in turn with inference, until nothing changes. Parameters are never read: computation
    on weights stays.

    ```mlir
    %s = onnx.Shape(%x) : (tensor<2x32x8xf32>) -> (tensor<3xi64>)
    %b = onnx.Gather(%s, %zero) {axis = 0 : i64} : (tensor<3xi64>, tensor<i64>) -> (tensor<i64>)
    // becomes
    %b = onnx.Constant() {value = dense<2> : tensor<i64>} : () -> (tensor<i64>)
    ```
  }];
  let options = [
    Option<"maxElements", "max-elements", "int64_t", "4096", "largest tensor that is evaluated">,
  ];
}

def RaisePatterns : Pass<"onnx-raise-patterns", "::mlir::ModuleOp"> {
  let summary = "turns the decomposed forms that exporters write back into one operator";
  let description = [{
    One operator is one kernel in LibTorch, one entry in a profile and one backward formula, where a decomposed form
    is many. Raised: Gelu (erf and tanh), Swish, HardSwish, HardSigmoid, LayerNormalization, RMSNormalization,
    GroupNormalization, Attention (grouped heads included), RotaryEmbedding, and MatMul with a bias to Gemm. Shapes
    must be static and shape arithmetic folded. docs/RaisePatterns.md lists the forms and what they assume.

    ```mlir
    %s = onnx.Sigmoid(%x) : (tensor<2x8xf32>) -> (tensor<2x8xf32>)
    %y = onnx.Mul(%x, %s) : (tensor<2x8xf32>, tensor<2x8xf32>) -> (tensor<2x8xf32>)
    // becomes
    %y = onnx.Swish(%x) : (tensor<2x8xf32>) -> (tensor<2x8xf32>)
    ```

    Numbers are checked by value, and what a form computes on the way must be read by nothing else. The result keeps
    the name of the form's last node.
  }];
}

def TrainingMode : Pass<"onnx-training-mode", "::mlir::ModuleOp"> {
  let summary = "sets operators that act differently in training to that form";
  let description = [{
    Exporters lose the mode: a model in train() exports as one in eval(). `operators` names those that shall train:
    `batch-norm` (statistics of the batch) and `dropout`. Operators that carry `training_mode` already train whatever is
    named. The new running statistics of a batch normalisation become results of @main with `hh.update`, which the
    runtime stores in their parameters; they follow LibTorch, whose running variance is the unbiased one.

    ```mlir
    %y = onnx.BatchNormalization(%x, %s, %b, %mean, %var) : ...
    return %y
    // becomes
    %y, %m, %v = onnx.BatchNormalization(%x, %s, %b, %mean, %var) {training_mode = 1 : i64, hh.training} : ...
    return %y, %m, %v
    ```
    Must come before onnx-fold-constants, which removes a Dropout that does not train.
  }];
  let options = [
    ListOption<"operators", "operators", "std::string", "batch-norm, dropout">,
  ];
  let dependentDialects = ["::hethub::hh::HHDialect"];
}

def AddLoss : Pass<"onnx-add-loss", "::mlir::ModuleOp"> {
  let summary = "makes the loss the model's first output, and drops the others";
  let description = [{
    The loss is an output of the model that is a float scalar, or one of these of an output with static shape:
    - `cross-entropy`: softmax over the last axis and the negative logarithm of the label's class, mean over all labels
      that are not -100. The input `labels` is int64 with the output's shape without that axis.
    - `mse`: the mean of the squared differences to the input `labels`, which has the output's type.

    16-bit outputs are widened first. Without `loss-output` the only possible output is taken. Results that are new
    values of parameters stay.

    ```mlir
    return %logits : tensor<2x8x100xf32>
    // becomes, with the argument %labels: tensor<2x8xi64> {onnx.name = "labels"}
    %s = onnx.Reshape(%logits, %rows_classes) : ...
    %t = onnx.Reshape(%labels, %rows) : ...
    %loss = onnx.SoftmaxCrossEntropyLoss(%s, %t) {ignore_index = -100 : i64, reduction = "mean"} : ...
    return %loss : tensor<f32>   // {hh.loss, onnx.name = "loss"}
    ```
  }];
  let options = [
    Option<"loss", "loss", "std::string", "", "cross-entropy or mse; empty: the output is the loss">,
    Option<"lossOutput", "loss-output", "std::string", "", "name of the output that makes the loss">,
    Option<"required", "required", "bool", "true", "a model without a loss is an error, else it stays as it is">,
  ];
  let dependentDialects = ["::hethub::hh::HHDialect"];
}

#endif // HETHUB_DIALECT_ONNX_TRANSFORMS_PASSES
