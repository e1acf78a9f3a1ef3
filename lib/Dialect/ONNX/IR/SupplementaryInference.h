//===- SupplementaryInference.h - types the library does not infer -*- C++
//-*-===//

#ifndef HETHUB_LIB_DIALECT_ONNX_IR_SUPPLEMENTARYINFERENCE_H
#define HETHUB_LIB_DIALECT_ONNX_IR_SUPPLEMENTARYINFERENCE_H

#include "hethub/Dialect/ONNX/IR/Node.h"
#include "onnx/defs/shape_inference.h"

namespace hethub::ox {

/// Sets the output types of the ten operators for which the ONNX library has no
/// inference function, and corrects those that it gets wrong. Does nothing for
/// all others.
void supplement(const Node &node, ::onnx::InferenceContext &context);

} // namespace hethub::ox

#endif // HETHUB_LIB_DIALECT_ONNX_IR_SUPPLEMENTARYINFERENCE_H
