//===- SpecializeDims.cpp - sizes for symbolic dims -----------------------===//

#include "hethub/Dialect/ONNX/Transforms/Passes.h"
#include "hethub/Support/OpenDims.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringExtras.h"

#include <map>

using namespace mlir;

namespace hethub::ox {

#define GEN_PASS_DEF_SPECIALIZEDIMS
#include "hethub/Dialect/ONNX/Transforms/Passes.h.inc"

namespace {
struct SpecializeDims : impl::SpecializeDimsBase<SpecializeDims> {
  using SpecializeDimsBase::SpecializeDimsBase;

  void runOnOperation() override {
    if (failed(parseSizes()))
      return signalPassFailure();
    SmallVector<std::string> names;
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (failed(specialize(function, names)))
        return signalPassFailure();
    SmallVector<StringRef> asked;
    for (auto &[name, size] : sizes)
      asked.push_back(name);
    asked.append(open.begin(), open.end());
    for (StringRef name : asked) {
      if (name == allDims || llvm::is_contained(names, name))
        continue;
      InFlightDiagnostic diagnostic = emitError(UnknownLoc::get(&getContext()));
      diagnostic << "no dim of the inputs has this name: '" << name << "'";
      if (names.empty())
        diagnostic << "; the inputs have no symbolic dims";
      else
        diagnostic << "; there are: " << llvm::join(names, ", ");
      return signalPassFailure();
    }
  }

private:
  /// Stands for every dim that has no size of its own.
  static constexpr StringLiteral allDims = "*";
  std::map<std::string, int64_t> sizes;
  SmallVector<StringRef> open; ///< name=?

  LogicalResult parseSizes() {
    for (StringRef text : dims) {
      // A name may hold an equals sign (exporters write "2*seq=x"): the size is
      // behind the last one.
      auto [name, number] = text.rsplit('=');
      int64_t size;
      // A typical size behind the question mark is for costs.
      StringRef typical = number;
      if (!name.empty() && typical.consume_front("?") &&
          (typical.empty() || (!typical.getAsInteger(10, size) && size > 0))) {
        open.push_back(name);
        continue;
      }
      if (name.empty() || number.getAsInteger(10, size) || size < 0)
        return emitError(UnknownLoc::get(&getContext()))
               << "dims must be given as name=size with a size of at least 0, "
                  "or ? where it stays open, got: "
               << text;
      auto [it, added] = sizes.insert({name.str(), size});
      if (!added && it->second != size)
        return emitError(UnknownLoc::get(&getContext()))
               << "dim '" << name << "' must have one size, got: " << it->second
               << " and " << size;
    }
    for (StringRef name : open)
      if (auto found = sizes.find(name.str()); found != sizes.end())
        return emitError(UnknownLoc::get(&getContext()))
               << "dim '" << name
               << "' must have one size, got: " << found->second << " and ?";
    return success();
  }

  /// The dim's own name; for an unknown size without one (files say "?" or -1)
  /// that of its input and axis: "x.0".
  static std::string dimName(func::FuncOp function, BlockArgument argument,
                             ArrayAttr dimNames, size_t axis) {
    if (dimNames)
      if (auto name = dyn_cast<StringAttr>(dimNames[axis]))
        if (!name.empty())
          return name.str();
    auto input = function.getArgAttrOfType<StringAttr>(argument.getArgNumber(),
                                                       "onnx.name");
    if (!input ||
        !cast<RankedTensorType>(argument.getType()).isDynamicDim(axis))
      return "";
    return (input.getValue() + "." + Twine(axis)).str();
  }

  LogicalResult specialize(func::FuncOp function,
                           SmallVectorImpl<std::string> &names) {
    if (function.isExternal())
      return success();
    for (BlockArgument argument : function.getArguments()) {
      unsigned number = argument.getArgNumber();
      auto type = dyn_cast<RankedTensorType>(argument.getType());
      if (!type)
        continue;
      auto dimNames = function.getArgAttrOfType<ArrayAttr>(number, "onnx.dims");
      if (dimNames && static_cast<int64_t>(dimNames.size()) != type.getRank())
        return function.emitOpError("onnx.dims must name each dim of argument ")
               << number;
      auto input = function.getArgAttrOfType<StringAttr>(number, "onnx.name");
      SmallVector<int64_t> shape(type.getShape());
      for (auto [axis, dim] : llvm::enumerate(shape)) {
        // A dim without a name goes by its input and axis.
        std::string name;
        if (dimNames)
          if (auto given = dyn_cast<StringAttr>(dimNames[axis]))
            name = given.str();
        if (name.empty() && input && ShapedType::isDynamic(dim))
          name = (input.getValue() + "[" + Twine(axis) + "]").str();
        if (name.empty())
          continue;
        if (!llvm::is_contained(names, name))
          names.push_back(name);
        auto it = sizes.find(name);
        if (it == sizes.end() && ShapedType::isDynamic(dim))
          it = sizes.find(allDims.str());
        if (it == sizes.end())
          continue;
        if (!ShapedType::isDynamic(dim) && dim != it->second)
          return function.emitOpError("dim '")
                 << name << "' is fixed already at " << dim
                 << ", got: " << it->second;
        dim = it->second;
      }
      argument.setType(type.clone(shape));
    }
    if (!open.empty())
      function->setAttr(openDimsAttrName,
                        Builder(&getContext()).getStrArrayAttr(open));
    function.setType(FunctionType::get(
        &getContext(), function.getBody().front().getArgumentTypes(),
        function.getResultTypes()));
    return success();
  }
};
} // namespace

} // namespace hethub::ox
