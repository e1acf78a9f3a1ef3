//===- Passes.td - passes of the hh dialect ----------------*- tablegen -*-===//

#ifndef HETHUB_DIALECT_HH_TRANSFORMS_PASSES
#define HETHUB_DIALECT_HH_TRANSFORMS_PASSES

include "mlir/Pass/PassBase.td"

def LoadCluster : Pass<"hh-load-cluster", "::mlir::ModuleOp"> {
  let summary = "puts the device types and links of a cluster file into the module";
  let description = [{
    Later passes read the cluster from the module, so that a step can be repeated and changed without the file.
    `stages=n` stands for n equal devices of this machine. Figures that `cpu` types leave out are measured.

    ```mlir
    hh.device_type @new kind "cuda" count 4 memory 85899345920 {accelerator = "A100-80GB", ...}
    hh.link @new to @new bandwidth 3.000000e+11 latency 5.000000e-06 {stated}
    ```
  }];
  let options = [
    Option<"file", "cluster", "std::string", "", "cluster file (YAML)">,
    Option<"stages", "stages", "unsigned", "0", "this many equal devices of this machine, instead of a file">,
  ];
  let dependentDialects = ["::hethub::hh::HHDialect"];
}

def Partition : Pass<"hh-partition", "::mlir::ModuleOp"> {
  let summary = "moves the operations of @main into pipeline stages, each sized to the device type that runs it";
  let description = [{
    Asks the planner for the fastest cut of the operations, in program order, into contiguous stages, and puts each
    stage into an `hh.stage` region. What crosses a stage border is an operand of the region.

    Not sent but copied into every stage that reads them, marked `hh.clone` in all but one:
    - views (Reshape, Transpose, Slice, Split, ...): the value they look at is sent instead, once and contiguous. The
      readers then see the same strides as in one stage, which keeps results equal bit for bit. A view of at most half
      the size is sent itself, unless the larger value is there anyway;
    - all that depends on parameters and constants alone.
    Both move to their first reader. Constants and `hh.get_parameter` are copied without a mark. Values that no
    channel carries (sequences, optionals, strings, shapes that only a run knows) stay within one stage.

    ```mlir
    func.func @main(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
      %0 = onnx.Relu(%x) {hh.cost = ...} : (tensor<2x4xf32>) -> (tensor<2x4xf32>)
      %1 = onnx.Exp(%0) {hh.cost = ...} : (tensor<2x4xf32>) -> (tensor<2x4xf32>)
      return %1 : tensor<2x4xf32>
    }
    ```
    becomes
    ```mlir
    func.func @main(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
      %0 = hh.stage 0 on @old (%a = %x) : (tensor<2x4xf32>) -> tensor<2x4xf32> {
        %2 = onnx.Relu(%a) ...
        hh.yield %2 : tensor<2x4xf32>
      }
      %1 = hh.stage 1 on @new (%a = %0) : (tensor<2x4xf32>) -> tensor<2x4xf32> {
        %2 = onnx.Exp(%a) ...
        hh.yield %2 : tensor<2x4xf32>
      }
      return %1 : tensor<2x4xf32>
    }
    hh.plan { ... }
    hh.fingerprint outputs [...] { ... }
    ```
    `hh.plan` holds the fields of plan.json, `hh.fingerprint` what hh-verify-plan compares with. With `explain` the plan
    has an `explanation`: what holds the bottleneck, what other plans would cost; beside a plan file the automatic plan.
  }];
  let options = [
    Option<"stages", "stages", "unsigned", "0", "exactly this many stages; 0: as many as are best">,
    Option<"microbatches", "microbatches", "unsigned", "1", "microbatches of one step">,
    Option<"microbatchSize", "microbatch-size", "unsigned", "0", "samples of a microbatch, for the plan file; 0: not known">,
    Option<"training", "training", "bool", "false", "plan a training step: backward passes, gradients, optimizer state">,
    Option<"schedule", "schedule", "std::string", "\"1f1b\"", "training: order of a step">,
    Option<"stagesPerDevice", "stages-per-device", "unsigned", "1",
           "training: stages of each device, which lie apart in the model (interleaved stages)">,
    Option<"replicas", "replicas", "bool", "true", "stages may have several replicas">,
    Option<"tensorParallel", "tensor-parallel", "bool", "false", "devices of a node may share the operations of a stage">,
    Option<"recompute", "recompute", "bool", "false", "stages may compute their forward pass again instead of keeping it">,
    Option<"workLimit", "work-limit", "uint64_t", "100000000", "steps of the search, of about 20 ns">,
    Option<"upperBound", "upper-bound", "bool", "false", "add to the plan what its device types would reach alone">,
    Option<"planFile", "plan", "std::string", "", "follow the stage map of this plan file instead of searching">,
    Option<"planOut", "plan-out", "std::string", "", "write the plan here (JSON)">,
    Option<"explain", "explain", "bool", "false", "add to the plan why it is not better">,
    Option<"whatIf", "what-if", "bool", "false", "add to the plan what one more device of each type would gain">,
  ];
  let dependentDialects = ["::hethub::hh::HHDialect"];
}

def InsertCommunication : Pass<"hh-insert-communication", "::mlir::ModuleOp"> {
  let summary = "turns each stage into a program that sends and receives what crosses its borders";
  let description = [{
    A value that a later stage reads gets one channel for each such stage, straight from its producer. Channels are
    numbered by sending stage, then by the place of the value there, then by receiving stage. A send stands right
    after its value; receives stand at the top, in the order of their channels. Model inputs become arguments of every
    program that reads them (an input that none reads stays with stage 0), model outputs results of the program that
    makes them.

    ```mlir
    hh.program @stage_0(%x: tensor<2x4xf32> {onnx.name = "x", onnx.index = 0 : i64}) attributes {...} {
      %0 = onnx.Relu(%x) : (tensor<2x4xf32>) -> (tensor<2x4xf32>)
      hh.send %0 on 0 to 1 : tensor<2x4xf32>
      hh.return
    }
    hh.program @stage_1() -> (tensor<2x4xf32> {onnx.name = "y", onnx.index = 0 : i64}) attributes {...} {
      %0 = hh.recv on 0 from 0 : tensor<2x4xf32>
      %1 = onnx.Exp(%0) : (tensor<2x4xf32>) -> (tensor<2x4xf32>)
      hh.return %1 : tensor<2x4xf32>
    }
    ```
    Costs are dropped from the operations: the plan has what later steps need.
  }];
  let dependentDialects = ["::hethub::hh::HHDialect"];
}

def MakeSchedule : Pass<"hh-schedule", "::mlir::ModuleOp"> {
  let summary = "writes the schedule table of the programs and proves that it cannot block";
  let description = [{
    Simulator, runtime and traces all read this one table; nobody derives the order of messages again.

    ```mlir
    hh.schedule {
      stage 0 replica 0 {
        forward 0
        send 0 on 0 to 1 replica 0 bytes 32
      }
      stage 1 replica 0 {
        recv 0 on 0 from 0 replica 0 bytes 32
        forward 0
      }
    }
    ```
    With `training` the table is a whole step: forward and backward passes in the order of `schedule`, the sum of
    gradients among replicas and among stages that share a parameter, the optimizer step. Zero-bubble wants backward
    passes in two parts (`hh-differentiate=split-weight`).
  }];
  let options = [
    Option<"microbatches", "microbatches", "unsigned", "0",
           "the table of a whole step of this many microbatches; 0: of one microbatch, repeated as a run needs">,
    Option<"training", "training", "bool", "false", "a training step, of programs that hh-differentiate made">,
    Option<"schedule", "schedule", "std::string", "\"1f1b\"",
           "training: order of forward and backward passes: 1f1b, gpipe or zero-bubble">,
  ];
  let dependentDialects = ["::hethub::hh::HHDialect"];
}

def RecordMemory : Pass<"hh-record-memory", "::mlir::ModuleOp"> {
  let summary = "replaces the bytes that a plan expects training to keep by those that its programs keep";
  let description = [{
    The planner counts what the backward pass of each operation reads; what it is in the end is known when the programs
    are made (hh-differentiate): a mask in place of a value, a value that several read, indices. Changes
    `activation_bytes` and `memory_bytes` of the plan's stages, warns of a stage that does not fit any more, and notes
    how many microbatches fit in memory (`hh.in_flight_limit`), which a zero-bubble schedule may use.
  }];
  let dependentDialects = ["::hethub::hh::HHDialect"];
}

def VerifyPlan : Pass<"hh-verify-plan", "::mlir::ModuleOp"> {
  let summary = "checks that the stages compute what the model did: nothing lost, doubled or reordered";
  let description = [{
    Hashes what every operation computes, through stages or through programs and their channels, and compares with
    `hh.fingerprint`. Names the operations that are lost, doubled, changed, read other values or lost their order.
  }];
}

def VerifyPhase : Pass<"hh-verify-phase", "::mlir::ModuleOp"> {
  let summary = "checks what must hold after a phase of the compilation and names what breaks it";
  let description = [{The contract between phases: docs/Phases.md.}];
  let options = [
    Option<"phase", "phase", "std::string", "",
           "import, normalise, cost, partition, communication, lower, differentiate or schedule">,
  ];
}

#endif // HETHUB_DIALECT_HH_TRANSFORMS_PASSES
