//===- Schemas.h - schemas of com.microsoft for the ONNX library -*- C++
//-*-===//

#ifndef HETHUB_LIB_DIALECT_MICROSOFT_IR_SCHEMAS_H
#define HETHUB_LIB_DIALECT_MICROSOFT_IR_SCHEMAS_H

namespace onnx {
struct InferenceContext;
}

namespace hethub::ms {

/// Tells the ONNX library of the operators, so that its checker, and importer
/// and verifier through its registry, know them. Once a process.
void registerSchemas();

/// Infers the types of the results of an operator by its name.
using InferenceFunction = void (*)(::onnx::InferenceContext &);
/// Null for a name without one.
InferenceFunction inferenceOf(const char *name);

} // namespace hethub::ms

#endif // HETHUB_LIB_DIALECT_MICROSOFT_IR_SCHEMAS_H
