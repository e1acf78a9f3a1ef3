//===- MicrosoftDialect.cpp - registration of operators and schemas -------===//

#include "hethub/Dialect/Microsoft/IR/MicrosoftDialect.h"
#include "Schemas.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"

using namespace mlir;
using namespace hethub::ms;

#include "hethub/Dialect/Microsoft/IR/MicrosoftDialect.cpp.inc"

#define GET_OP_CLASSES
#include "hethub/Dialect/Microsoft/IR/MicrosoftOps.h.inc"

#define GET_OP_CLASSES
#include "hethub/Dialect/Microsoft/IR/MicrosoftOps.cpp.inc"

void MicrosoftDialect::initialize() {
  registerSchemas();
  addOperations<
#define GET_OP_LIST
#include "hethub/Dialect/Microsoft/IR/MicrosoftOps.cpp.inc"
      >();
}
