//===- Names.cpp - the model's own names, kept in locations ---------------===//

#include "hethub/Support/Names.h"
#include "hethub/Support/Notes.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;

namespace hethub {

Location makeNodeLoc(MLIRContext *context, StringRef node,
                     ArrayRef<StringRef> results, StringRef scope) {
  if (node.empty() && !results.empty())
    node = results.front();
  auto name = StringAttr::get(context, node);
  bool named = results.size() != 1 || results.front() != node;
  if (scope.empty() && (!named || results.empty()))
    return NameLoc::get(name);
  Location inner = scope.empty()
                       ? Location(UnknownLoc::get(context))
                       : NameLoc::get(StringAttr::get(context, scope));
  if (named) {
    SmallVector<Attribute> names;
    for (StringRef result : results)
      names.push_back(StringAttr::get(context, result));
    // A fused location of one plain element would be simplified away; the
    // metadata keeps it.
    inner = FusedLoc::get(context, {inner}, ArrayAttr::get(context, names));
  }
  return NameLoc::get(name, inner);
}

/// The named location inside fusions and call sites that passes may have
/// wrapped around it: the last one is the root of the pattern that made the
/// operation.
static NameLoc findName(Location loc) {
  if (auto name = dyn_cast<NameLoc>(loc))
    return name;
  if (auto fused = dyn_cast<FusedLoc>(loc))
    for (Location part : llvm::reverse(fused.getLocations()))
      if (NameLoc name = findName(part))
        return name;
  if (auto call = dyn_cast<CallSiteLoc>(loc))
    return findName(call.getCallee());
  return nullptr;
}

//===----------------------------------------------------------------------===//
// Notes
//===----------------------------------------------------------------------===//

/// The names of results are one of them; alone they stand without a key.
static constexpr StringLiteral resultsNote = "results";

Location withNotes(Location loc, ArrayRef<NamedAttribute> notes) {
  auto name = dyn_cast<NameLoc>(loc);
  if (!name || notes.empty())
    return loc;
  MLIRContext *context = loc.getContext();
  NamedAttrList list;
  Location inner = name.getChildLoc();
  if (auto fused = dyn_cast<FusedLoc>(inner)) {
    if (auto all = dyn_cast_or_null<DictionaryAttr>(fused.getMetadata()))
      list = NamedAttrList(all);
    else if (auto results = dyn_cast_or_null<ArrayAttr>(fused.getMetadata()))
      list.set(resultsNote, results);
    inner = fused.getLocations().front();
  }
  for (NamedAttribute note : notes)
    list.set(note.getName(), note.getValue());
  return NameLoc::get(
      name.getName(),
      FusedLoc::get(context, {inner}, list.getDictionary(context)));
}

Attribute note(Location loc, StringRef key) {
  NameLoc name = findName(loc);
  auto fused = name ? dyn_cast<FusedLoc>(name.getChildLoc()) : nullptr;
  if (!fused)
    return nullptr;
  if (auto results = dyn_cast_or_null<ArrayAttr>(fused.getMetadata()))
    return key == resultsNote ? results : nullptr;
  auto all = dyn_cast_or_null<DictionaryAttr>(fused.getMetadata());
  return all ? all.get(key) : nullptr;
}

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

StringRef nodeName(Location loc) {
  NameLoc name = findName(loc);
  return name ? name.getName().strref() : StringRef();
}

StringRef nodeName(Operation *op) { return nodeName(op->getLoc()); }

StringRef scopeOf(Location loc) {
  NameLoc name = findName(loc);
  if (!name)
    return "";
  Location child = name.getChildLoc();
  if (auto fused = dyn_cast<FusedLoc>(child))
    child = fused.getLocations().front();
  auto scope = dyn_cast<NameLoc>(child);
  return scope ? scope.getName().strref() : StringRef();
}

std::string valueName(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    auto function =
        dyn_cast<FunctionOpInterface>(argument.getOwner()->getParentOp());
    if (function && argument.getOwner()->isEntryBlock())
      if (auto name = function.getArgAttrOfType<StringAttr>(
              argument.getArgNumber(), "onnx.name"))
        return name.str();
    return nodeName(argument.getLoc()).str();
  }
  auto result = cast<OpResult>(value);
  if (auto name =
          result.getOwner()->getAttrOfType<FlatSymbolRefAttr>("parameter"))
    return name.getValue().str();
  NameLoc name = findName(result.getLoc());
  if (!name)
    return "";
  if (auto names = noteOf<ArrayAttr>(name, resultsNote))
    if (result.getResultNumber() < names.size())
      return cast<StringAttr>(names[result.getResultNumber()]).str();
  if (result.getResultNumber() == 0)
    return name.getName().str();
  return (name.getName().strref() + "." + Twine(result.getResultNumber()))
      .str();
}

} // namespace hethub
