//===- HHOps.td - devices, parameters, stages, channels ----*- tablegen -*-===//

#ifndef HETHUB_DIALECT_HH_IR_HHOPS
#define HETHUB_DIALECT_HH_IR_HHOPS

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/OpBase.td"
include "mlir/IR/RegionKindInterface.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/FunctionInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def HH_Dialect : Dialect {
  let name = "hh";
  let summary = "devices, parameters, pipeline stages and the communication between them";
  let description = [{
    Describes where a model runs. Device types and links come from the cluster file; a partitioned function holds one
    `hh.stage` region per pipeline stage; after communication is inserted each stage is an `hh.program` of its own.
  }];
  let cppNamespace = "::hethub::hh";
  let useDefaultAttributePrinterParser = 1;
}

class HH_Attr<string name, string attrMnemonic> : AttrDef<HH_Dialect, name> {
  let mnemonic = attrMnemonic;
}
class HH_Op<string mnemonic, list<Trait> traits = []> : Op<HH_Dialect, mnemonic, traits>;

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

def HH_CostAttr : HH_Attr<"Cost", "cost"> {
  let summary = "what an operation costs, and how long it takes on each device type";
  let description = [{
    `flops` (forward), `moved` (bytes read and written by the forward pass), `kept` (bytes kept for backward) and
    `parameters` (bytes) are properties of the operation; `seconds` maps each device type to its forward and backward
    time and, in training, what gradients of parameters take of the latter. Set as `hh.cost` by hh-annotate-cost.

    ```mlir
    hh.cost = #hh.cost<flops = 2100000000, moved = 4718592, kept = 1572864, parameters = 2359296,
                       seconds = {new = array<f64: 1.1e-05, 2.2e-05>, old = array<f64: 1.4e-04, 2.8e-04>}>
    ```
  }];
  let parameters = (ins "int64_t":$flops, "int64_t":$moved, "int64_t":$kept, "int64_t":$parameters,
                        "::mlir::DictionaryAttr":$seconds);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

//===----------------------------------------------------------------------===//
// The cluster
//===----------------------------------------------------------------------===//

def HH_DeviceTypeOp : HH_Op<"device_type", [Symbol, HasParent<"::mlir::ModuleOp">]> {
  let summary = "a type of device that the cluster has";
  let description = [{
    ```mlir
    hh.device_type @old kind "cuda" count 8 memory 17179869184 {nodes = 2 : i64}
    ```
    `memory` is bytes of one device. The attributes hold the other figures of the cluster file: peak FLOP/s by dtype,
    bytes/s of device memory and of copies to host memory, seconds of a kernel launch, the profile of measured times,
    how many times slower an emulated device is, and in which type its products are computed when it trains.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, StrAttr:$kind, I64Attr:$count, I64Attr:$memory,
                       OptionalAttr<I64Attr>:$nodes, OptionalAttr<StrAttr>:$accelerator,
                       OptionalAttr<DictionaryAttr>:$peak_flops, OptionalAttr<F64Attr>:$memory_bandwidth,
                       OptionalAttr<F64Attr>:$launch_overhead, OptionalAttr<F64Attr>:$host_bandwidth,
                       OptionalAttr<StrAttr>:$profile, OptionalAttr<F64Attr>:$emulated_slowdown,
                       OptionalAttr<StrAttr>:$training_precision);
  let assemblyFormat = "$sym_name `kind` $kind `count` $count `memory` $memory attr-dict";
  let hasVerifier = 1;
}

def HH_LinkOp : HH_Op<"link", [HasParent<"::mlir::ModuleOp">]> {
  let summary = "a link between two device types, or within one";
  let description = [{
    ```mlir
    hh.link @old to @new bandwidth 3.125e+09 latency 3.0e-05 {via = "host"}
    ```
    Bytes per second and seconds. `via = "host"`: messages are copied through host memory at both ends. `routed`: so says
    the cluster file or a measurement, and the runtime does. `emulated`: the runtime makes messages last as long as the
    figures say. `routes` are what was measured, of which each message takes its fastest one; `chunk` is in bytes:

    ```mlir
    hh.link @old to @new bandwidth 6.0e+09 latency 3.0e-05
      {routed, routes = [{bandwidth = 6.0e+09, chunk = 1048576, latency = 3.0e-05, via = "host"} ], stated, via = "host"}
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$from, FlatSymbolRefAttr:$to, F64Attr:$bandwidth, F64Attr:$latency,
                       OptionalAttr<StrAttr>:$via, UnitAttr:$emulated, UnitAttr:$stated, UnitAttr:$routed,
                       OptionalAttr<I64Attr>:$chunk, OptionalAttr<ArrayAttr>:$routes);
  let assemblyFormat = "$from `to` $to `bandwidth` $bandwidth `latency` $latency attr-dict";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Parameters and constants
//===----------------------------------------------------------------------===//

def HH_ParameterOp : HH_Op<"parameter", [Symbol]> {
  let summary = "a named weight: where its bytes are";
  let description = [{
    The bytes never enter the IR. A parameter points either at a slice of a file or, where the model file stores the
    values in a form that is not raw bytes, at a tensor of the model file.

    ```mlir
    hh.parameter @"h.0.attn.weight" : tensor<768x2304xf32> from "model.onnx.data" offset 4096 length 7077888
    hh.parameter @scale : tensor<64xf32> from "model.onnx" tensor "scale"
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, TypeAttrOf<AnyRankedTensor>:$type, StrAttr:$file,
                       OptionalAttr<I64Attr>:$offset, OptionalAttr<I64Attr>:$length, OptionalAttr<StrAttr>:$tensor);
  let assemblyFormat = [{
    $sym_name `:` $type `from` $file (`offset` $offset^ `length` $length)? (`tensor` $tensor^)? attr-dict
  }];
  let hasVerifier = 1;
}

def HH_GetParameterOp : HH_Op<"get_parameter", [Pure, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "the value of a parameter";
  let arguments = (ins FlatSymbolRefAttr:$parameter);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$parameter attr-dict `:` type($result)";
}

def HH_ConstantOp : HH_Op<"constant", [Pure, AllTypesMatch<["value", "result"]>]> {
  let summary = "a small constant tensor of a lowered program";
  let arguments = (ins ElementsAttr:$value);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$value attr-dict";
}

//===----------------------------------------------------------------------===//
// Stages: a partitioned function
//===----------------------------------------------------------------------===//

def HH_StageOp : HH_Op<"stage", [
    IsolatedFromAbove, RecursiveMemoryEffects, SingleBlockImplicitTerminator<"YieldOp">]> {
  let summary = "a pipeline stage: the operations that one device type runs";
  let description = [{
    Stages stand in pipeline order. Values enter through operands only, so that what crosses a stage border can be
    seen in one line.

    ```mlir
    %h = hh.stage 1 on @new (%x = %0) : (tensor<2x32x256xf32>) -> tensor<2x32x256xf32> {
      ...
      hh.yield %y : tensor<2x32x256xf32>
    }
    ```
  }];
  let arguments = (ins I64Attr:$index, FlatSymbolRefAttr:$device, DefaultValuedAttr<I64Attr, "1">:$replicas,
                       Variadic<AnyType>:$inputs);
  let results = (outs Variadic<AnyType>:$outputs);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}

def HH_YieldOp : HH_Op<"yield", [Pure, ReturnLike, Terminator, ParentOneOf<["StageOp", "StartUpOp", "IfOp", "LoopOp"]>]> {
  let summary = "ends a region and gives its results";
  let arguments = (ins Variadic<AnyType>:$values);
  let assemblyFormat = "($values^ `:` type($values))? attr-dict";
  let builders = [OpBuilder<(ins), [{ build($_builder, $_state, ::mlir::ValueRange()); }]>];
}

//===----------------------------------------------------------------------===//
// Programs: what one device runs
//===----------------------------------------------------------------------===//

def HH_ProgramOp : HH_Op<"program", [
    IsolatedFromAbove, FunctionOpInterface, HasParent<"::mlir::ModuleOp">]> {
  let summary = "the program of one stage";
  let description = [{
    Arguments are the model inputs that the stage reads, results the model outputs that it makes (both with their
    `onnx.name`); everything else comes and goes through channels. A stage that trains has up to three programs, told
    apart by `part` (docs/Training.md): the forward program has none, the others are `"backward"` and `"weight"`.

    ```mlir
    hh.program @stage_1(%mask: tensor<2x32xi64> {onnx.name = "attention_mask", onnx.index = 1 : i64})
        -> (tensor<2x32x1000xf32> {onnx.name = "logits", onnx.index = 0 : i64})
        attributes {stage = 1 : i64, device = @new, replicas = 1 : i64} {
      %h = hh.recv on 0 from 0 : tensor<2x32x256xf32>
      ...
      hh.return %logits : tensor<2x32x1000xf32>
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, TypeAttrOf<FunctionType>:$function_type, I64Attr:$stage,
                       FlatSymbolRefAttr:$device, DefaultValuedAttr<I64Attr, "1">:$replicas,
                       OptionalAttr<StrAttr>:$part, OptionalAttr<DictArrayAttr>:$arg_attrs, OptionalAttr<DictArrayAttr>:$res_attrs);
  let regions = (region AnyRegion:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::llvm::ArrayRef<::mlir::Type> getArgumentTypes() { return getFunctionType().getInputs(); }
    ::llvm::ArrayRef<::mlir::Type> getResultTypes() { return getFunctionType().getResults(); }
    ::mlir::Region *getCallableRegion() { return &getBody(); }
  }];
}

def HH_ReturnOp : HH_Op<"return", [Pure, HasParent<"ProgramOp">, ReturnLike, Terminator]> {
  let summary = "ends a program and gives its model outputs";
  let arguments = (ins Variadic<AnyType>:$values);
  let assemblyFormat = "($values^ `:` type($values))? attr-dict";
  let hasVerifier = 1;
}

def HH_StartUpOp : HH_Op<"start_up", [
    RecursiveMemoryEffects, HasParent<"ProgramOp">, SingleBlockImplicitTerminator<"YieldOp">]> {
  let summary = "values that depend on parameters alone: computed once when a program is loaded";
  let description = [{
    ```mlir
    %packed = hh.start_up -> tensor<1536x64xf32> {
      %w = hh.get_parameter @lstm.W : tensor<1536x64xf32>
      ...
      hh.yield %p : tensor<1536x64xf32>
    }
    ```
  }];
  let results = (outs Variadic<AnyType>:$outputs);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "(`->` type($outputs)^)? $body attr-dict";
  let hasVerifier = 1;
}

def HH_IfOp : HH_Op<"if", [RecursiveMemoryEffects, SingleBlockImplicitTerminator<"YieldOp">]> {
  let summary = "runs one of two regions";
  let description = [{Both regions may read outer values and yield values of the result types.}];
  let arguments = (ins AnyRankedTensor:$condition);
  let results = (outs Variadic<AnyType>:$outputs);
  let regions = (region SizedRegion<1>:$then_body, SizedRegion<1>:$else_body);
  let assemblyFormat = [{
    $condition attr-dict `:` functional-type($condition, $outputs) $then_body `else` $else_body
  }];
  let hasVerifier = 1;
}

def HH_LoopOp : HH_Op<"loop", [RecursiveMemoryEffects, SingleBlockImplicitTerminator<"YieldOp">]> {
  let summary = "runs a region while a condition holds, at most a number of times";
  let description = [{
    The region gets the number of the iteration, the condition and the carried values, and yields the condition of the
    next iteration, the carried values and what each iteration adds to the other results: tensors that are stacked along
    a new first axis. Carried values keep their type. The region may read outer values.

    ```mlir
    %sum, %all = hh.loop %count while %true carries (%zero)
        : tensor<i64>, tensor<i1>, (tensor<f32>) -> (tensor<f32>, tensor<?xf32>) {
    ^bb0(%i: tensor<i64>, %go: tensor<i1>, %before: tensor<f32>):
      %after = aten.add.Tensor(%before, %x) : (tensor<f32>, tensor<f32>) -> (tensor<f32>)
      hh.yield %go, %after, %after : tensor<i1>, tensor<f32>, tensor<f32>
    }
    ```
  }];
  let arguments = (ins AnyTensor:$trip_count, AnyTensor:$condition, Variadic<AnyType>:$initial);
  let results = (outs Variadic<AnyType>:$outputs);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $trip_count `while` $condition `carries` `(` ($initial^)? `)` attr-dict `:` type($trip_count) `,` type($condition)
    `,` functional-type($initial, $outputs) $body
  }];
  let hasVerifier = 1;
}

def HH_CastOp : HH_Op<"cast", [Pure]> {
  let summary = "a value under another type";
  let description = [{
    Where sizes are known on one side only, or a value is given on as an optional. Costs nothing at run time, and checks
    nothing.

    ```mlir
    %y = hh.cast %x : tensor<3xf32> to tensor<?xf32>
    ```
  }];
  let arguments = (ins AnyType:$value);
  let results = (outs AnyType:$result);
  let assemblyFormat = "$value attr-dict `:` type($value) `to` type($result)";
}

//===----------------------------------------------------------------------===//
// Communication
//===----------------------------------------------------------------------===//

// Send and receive are ordered per channel; they are neither pure nor movable across each other.
def HH_SendOp : HH_Op<"send", [HasParent<"ProgramOp">]> {
  let summary = "sends a value on a channel to another stage";
  let description = [{
    ```mlir
    hh.send %h on 3 to 2 : tensor<2x32x256xf32>
    ```
    A channel is a directed edge between two stages that carries one value per microbatch. `pack` says that the value
    may be a strided view of a larger one, which the receiver gets as a contiguous tensor.
  }];
  let arguments = (ins AnyRankedTensor:$value, I64Attr:$channel, I64Attr:$to, UnitAttr:$pack);
  let assemblyFormat = "$value `on` $channel `to` $to attr-dict `:` type($value)";
  let hasVerifier = 1;
}

def HH_RecvOp : HH_Op<"recv", [HasParent<"ProgramOp">]> {
  let summary = "receives a value on a channel from another stage";
  let description = [{
    ```mlir
    %h = hh.recv on 3 from 1 : tensor<2x32x256xf32>
    ```
  }];
  let arguments = (ins I64Attr:$channel, I64Attr:$from);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "`on` $channel `from` $from attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def HH_AllReduceOp : HH_Op<"all_reduce", [HasParent<"ProgramOp">, AllTypesMatch<["value", "result"]>]> {
  let summary = "sums a value over the replicas of this stage, or over the stages that hold a parameter";
  let description = [{
    ```mlir
    %g = hh.all_reduce %grad group "tied:wte" stages [0, 3] : tensor<1000x256xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$value, StrAttr:$group, DenseI64ArrayAttr:$stages);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$value `group` $group `stages` $stages attr-dict `:` type($value)";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Records: what passes leave for later ones, at the end of the module
//===----------------------------------------------------------------------===//

def HH_PlanOp : HH_Op<"plan", [HasParent<"::mlir::ModuleOp">]> {
  let summary = "the plan that the stages follow, with its predicted figures";
  let description = [{
    Holds the fields of plan.json; left by hh-partition.

    ```mlir
    hh.plan {
      microbatches = 4
      step_seconds = 1.100000e-02
      stages = [{
        device = "new"
        ops = ["wte", "h.0.attn"]
      } ]
    }
    ```
  }];
  let arguments = (ins DictionaryAttr:$figures);
  let hasCustomAssemblyFormat = 1;
}

def HH_FingerprintOp : HH_Op<"fingerprint", [HasParent<"::mlir::ModuleOp">]> {
  let summary = "what the model computed before it was partitioned";
  let description = [{
    One line an operation: its name, a hash of the operation alone, and one that covers what its operands are computed
    from; then the hashes of the model's outputs. hh-verify-plan builds the same from the stages and compares.

    ```mlir
    hh.fingerprint outputs [8137012] {
      "h.0.attn" -5123341, 1244311
    }
    ```
  }];
  let arguments = (ins StrArrayAttr:$names, DenseI64ArrayAttr:$own, DenseI64ArrayAttr:$hashes,
                       DenseI64ArrayAttr:$outputs);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}

def HH_ScheduleOp : HH_Op<"schedule", [HasParent<"::mlir::ModuleOp">]> {
  let summary = "the schedule table: what each rank does, in which order";
  let description = [{
    With `microbatches` the table is a whole step; without, it is one microbatch and is repeated for as many as a run
    has. `rows` holds eight numbers a row: stage, replica, action, microbatch, peer stage, peer replica, channel, bytes
    (hethub.ScheduleRow in proto/hethub.proto).

    ```mlir
    hh.schedule microbatches 2 {
      stage 0 replica 0 {
        forward 0
        send 0 on 0 to 1 replica 0 bytes 65536
        forward 1
        send 1 on 0 to 1 replica 0 bytes 65536
      }
      ...
    }
    ```
  }];
  let arguments = (ins OptionalAttr<I64Attr>:$microbatches, DenseI64ArrayAttr:$rows);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    static constexpr unsigned columns = 8;
  }];
}

#endif // HETHUB_DIALECT_HH_IR_HHOPS
