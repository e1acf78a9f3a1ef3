//===- ATenDialect.cpp - registration of the operators --------------------===//

#include "hethub/Dialect/ATen/IR/ATenDialect.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/IR/OpImplementation.h"

using namespace mlir;
using namespace hethub::aten;

#include "hethub/Dialect/ATen/IR/ATenDialect.cpp.inc"
#include "hethub/Dialect/ATen/IR/ATenInterfaces.cpp.inc"

#define GET_OP_CLASSES
#include "hethub/Dialect/ATen/IR/ATenOps.h.inc"

#define GET_OP_CLASSES
#include "hethub/Dialect/ATen/IR/ATenOps.cpp.inc"

void ATenDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "hethub/Dialect/ATen/IR/ATenOps.cpp.inc"
      >();
}
