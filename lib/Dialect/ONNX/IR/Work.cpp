//===- Work.cpp - the work of one execution, by operator class ------------===//

#include "hethub/Dialect/ONNX/IR/Node.h"

using namespace mlir;

hethub::hh::OpWork hethub::ox::workOf(Operation *op) { return {}; }
