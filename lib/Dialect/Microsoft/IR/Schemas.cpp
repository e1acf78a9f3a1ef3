//===- Schemas.cpp - schemas of com.microsoft for the ONNX library --------===//

#include "Schemas.h"

#include "onnx/defs/schema.h"

#include <mutex>
#include <vector>

namespace hethub::ms {

static std::vector<onnx::OpSchema> makeSchemas() {
  std::vector<onnx::OpSchema> made;
#include "hethub/Dialect/Microsoft/IR/Schemas.inc"
  return made;
}

void registerSchemas() {
  // Any number of contexts may load the dialect.
  static std::once_flag once;
  std::call_once(once, [] {
    onnx::OpSchemaRegistry::DomainToVersionRange::Instance().AddDomainToVersion(
        "com.microsoft", 1, 1);
    for (onnx::OpSchema &schema : makeSchemas()) {
      if (InferenceFunction infer = inferenceOf(schema.Name().c_str()))
        schema.TypeAndShapeInferenceFunction(infer);
      onnx::RegisterSchema(std::move(schema));
    }
  });
}

} // namespace hethub::ms
