//===- PlanRecord.cpp - plan.json as an attribute -------------------------===//

#include "hethub/Dialect/HH/Transforms/PlanRecord.h"

#include "hethub/Dialect/HH/IR/HHDialect.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace hethub;
namespace json = llvm::json;

Attribute hh::toAttribute(MLIRContext *context, const json::Value &value) {
  Builder builder(context);
  switch (value.kind()) {
  case json::Value::Null:
    return builder.getUnitAttr();
  case json::Value::Boolean:
    return builder.getBoolAttr(*value.getAsBoolean());
  case json::Value::Number:
    if (std::optional<int64_t> integer = value.getAsInteger())
      return builder.getI64IntegerAttr(*integer);
    return builder.getF64FloatAttr(*value.getAsNumber());
  case json::Value::String:
    return builder.getStringAttr(*value.getAsString());
  case json::Value::Array: {
    SmallVector<Attribute> list;
    for (const json::Value &element : *value.getAsArray())
      list.push_back(toAttribute(context, element));
    return builder.getArrayAttr(list);
  }
  case json::Value::Object: {
    NamedAttrList entries;
    for (const auto &[key, element] : *value.getAsObject())
      entries.append(key.str(), toAttribute(context, element));
    return entries.getDictionary(context);
  }
  }
  llvm_unreachable("json has no other kinds");
}

json::Value hh::toJSON(Attribute attribute) {
  if (auto flag = dyn_cast<BoolAttr>(attribute))
    return flag.getValue();
  if (auto integer = dyn_cast<IntegerAttr>(attribute))
    return integer.getInt();
  if (auto number = dyn_cast<FloatAttr>(attribute))
    return number.getValueAsDouble();
  if (auto text = dyn_cast<StringAttr>(attribute))
    return text.getValue();
  if (auto list = dyn_cast<ArrayAttr>(attribute)) {
    json::Array array;
    for (Attribute element : list)
      array.push_back(toJSON(element));
    return array;
  }
  if (auto entries = dyn_cast<DictionaryAttr>(attribute)) {
    json::Object object;
    for (NamedAttribute entry : entries)
      object[entry.getName().str()] = toJSON(entry.getValue());
    return object;
  }
  return nullptr;
}

std::optional<json::Value> hh::planJSON(ModuleOp module) {
  for (auto plan : module.getOps<PlanOp>())
    return toJSON(plan.getFigures());
  return std::nullopt;
}
