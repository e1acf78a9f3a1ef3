//===- MicrosoftDialect.h - the com_microsoft dialect ----------*- C++ -*-===//
//
// Passes look at its operators through Node.h, as at those of the onnx dialect;
// nothing names an operator class.
//===----------------------------------------------------------------------===//

#ifndef HETHUB_DIALECT_MICROSOFT_IR_MICROSOFTDIALECT_H
#define HETHUB_DIALECT_MICROSOFT_IR_MICROSOFTDIALECT_H

#include "hethub/Dialect/ONNX/IR/ONNXDialect.h"

#include "hethub/Dialect/Microsoft/IR/MicrosoftDialect.h.inc"

#endif // HETHUB_DIALECT_MICROSOFT_IR_MICROSOFTDIALECT_H
