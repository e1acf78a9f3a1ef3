//===- ATenOps.td - the operators of the aten dialect ------*- tablegen -*-===//

#ifndef HETHUB_DIALECT_ATEN_IR_ATENOPS
#define HETHUB_DIALECT_ATEN_IR_ATENOPS

include "hethub/Dialect/ATen/IR/ATenBase.td"
include "hethub/Dialect/ATen/IR/GeneratedOps.td"

#endif // HETHUB_DIALECT_ATEN_IR_ATENOPS
