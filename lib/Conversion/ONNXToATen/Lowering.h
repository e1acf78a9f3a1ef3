//===- Lowering.h - what handlers use to lower one node --------*- C++ -*-===//
//
// A handler lowers one onnx operation. It looks at the node through `node`, at
// its lowered inputs through in(), makes calls with the helpers of CallBuilder,
// and ends with replace() or refuse().
// Handlers see static shapes only: the driver refuses a node before its handler
// runs if one is not known.
//===----------------------------------------------------------------------===//

#ifndef HETHUB_LIB_CONVERSION_ONNXTOATEN_LOWERING_H
#define HETHUB_LIB_CONVERSION_ONNXTOATEN_LOWERING_H

#include "hethub/Dialect/ATen/Utils/CallBuilder.h"
#include "hethub/Dialect/ONNX/IR/Node.h"

#include "llvm/ADT/StringMap.h"

namespace hethub {

class Lowering : public CallBuilder {
public:
  Lowering(mlir::Operation *op, mlir::OpBuilder &builder);

  const ox::Node node;

  //===--- The node
  //---------------------------------------------------------===//

  bool has(unsigned input) const { return bool(node.input(input)); }
  Value in(unsigned input) const { return node.input(input); }
  /// An input for moving data: unsigned integers of 16 bits and more as the
  /// signed type of that width (the same bits), since LibTorch knows few
  /// operators on them. replace() turns results back.
  Value data(unsigned input) { return asSigned(in(input)); }
  Value asSigned(Value x);
  /// An input for arithmetic: the same integers in the next wider signed type;
  /// 64-bit ones as their bits.
  Value compute(unsigned input) { return widen(in(input)); }
  Value widen(Value x);
  RankedTensorType outType(unsigned output = 0) const;
  bool wants(unsigned output) const;
  /// The axis of attribute `name`, counted from the front.
  int64_t axis(llvm::StringRef name, int64_t fallback, int64_t rank) const;

  /// Ends the handler: the value of an output. The type must be the output's.
  void replace(unsigned output, Value value);
  llvm::LogicalResult done(Value value) {
    replace(0, value);
    return llvm::success();
  }
  /// Ends the handler: why this form cannot be lowered.
  llvm::LogicalResult refuse(const llvm::Twine &reason);
  llvm::StringRef reason() const { return refusal; }

private:
  std::string refusal;
};

/// A constant vector of the strings of an attribute; empty where it is not set.
Value textConstant(Lowering &l, llvm::StringRef name);

/// ONNX's Cast: 8-bit floats saturate unless the node's attribute `saturate` is
/// 0.
Value convert(Lowering &l, Value x, Type to);
/// Floats of 4 and 6 bits as float32; all others as they are.
Value decode(Lowering &l, Value x);

using Handler = llvm::LogicalResult (*)(Lowering &);
/// Handlers by operator name; the default domain's names stand alone, others as
/// "domain.Name".
using HandlerTable = llvm::StringMap<Handler>;

// One a category; each file registers its own.
void addAttentionHandlers(HandlerTable &table);
void addComparisonHandlers(HandlerTable &table);
void addConvolutionHandlers(HandlerTable &table);
void addElementwiseHandlers(HandlerTable &table);
void addActivationHandlers(HandlerTable &table);
void addGeneratorHandlers(HandlerTable &table);
void addIndexingHandlers(HandlerTable &table);
void addScatterHandlers(HandlerTable &table);
void addLinearHandlers(HandlerTable &table);
void addLossHandlers(HandlerTable &table);
void addNormalizationHandlers(HandlerTable &table);
void addPaddingHandlers(HandlerTable &table);
void addPoolingHandlers(HandlerTable &table);
void addQuantizationHandlers(HandlerTable &table);
void addRecurrentHandlers(HandlerTable &table);
void addReductionHandlers(HandlerTable &table);
void addResamplingHandlers(HandlerTable &table);
void addShapeHandlers(HandlerTable &table);
void addDeformableConvolutionHandlers(HandlerTable &table);
void addDetectionHandlers(HandlerTable &table);
void addFeatureHandlers(HandlerTable &table);
void addFourierHandlers(HandlerTable &table);
void addLinearAttentionHandlers(HandlerTable &table);
void addLinearModelHandlers(HandlerTable &table);
void addMicrosoftAttentionHandlers(HandlerTable &table);
void addMicrosoftFusedHandlers(HandlerTable &table);
void addMicrosoftQuantizedHandlers(HandlerTable &table);
void addOptimizerHandlers(HandlerTable &table);
void addRandomHandlers(HandlerTable &table);
void addSearchHandlers(HandlerTable &table);
void addTreeHandlers(HandlerTable &table);

} // namespace hethub

#endif // HETHUB_LIB_CONVERSION_ONNXTOATEN_LOWERING_H
