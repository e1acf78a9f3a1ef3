//===- CostInterface.td - what an operation costs ----------*- tablegen -*-===//

#ifndef HETHUB_DIALECT_HH_IR_COSTINTERFACE
#define HETHUB_DIALECT_HH_IR_COSTINTERFACE

include "mlir/IR/OpBase.td"

def HH_CostInterface : OpInterface<"CostInterface"> {
  let cppNamespace = "::hethub::hh";
  let description = [{
    Gives the work that one execution of an operation takes, whatever device runs it. Cost models turn work into
    seconds per device type. All value types must be static.
  }];
  let methods = [
    InterfaceMethod<"work of one execution", "::hethub::hh::OpWork", "getWork">,
  ];
}

#endif // HETHUB_DIALECT_HH_IR_COSTINTERFACE
