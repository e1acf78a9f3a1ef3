//===- Linear.cpp - MatMul and Add of a bias to Gemm ----------------------===//
//
//   x @ weight + bias                -> Gemm(x, weight, bias) for a matrix x x
//   @ weight + bias                -> reshape(Gemm(reshape(x), weight, bias))
//   for more dimensions x @ transpose(weight) + bias     -> the same with
//   transB
//
// ONNX has no linear operator for more than two dimensions; the Reshapes are
// views of contiguous values and cost nothing, and what comes out is plain ONNX
// that every tool runs. docs/Cost.md says why no operator of our own.
//===----------------------------------------------------------------------===//

#include "Match.h"

#include "hethub/Dialect/ONNX/IR/Work.h"
#include "hethub/Support/Names.h"

using namespace mlir;
using namespace hethub;
using namespace hethub::ox;
using namespace hethub::ox::raise;

namespace {
struct RaiseLinear : RaisingPattern {
  using RaisingPattern::RaisingPattern;

  LogicalResult matchAndRewrite(Operation *op,
                                PatternRewriter &rewriter) const override {
    return success(eitherOrder(op, [&](Value product, Value bias) {
      Operation *matMul = soleProducer(product, "MatMul");
      return matMul && product.getType() == op->getResult(0).getType() &&
             raise(op, matMul, bias, rewriter);
    }));
  }

private:
  static bool raise(Operation *op, Operation *matMul, Value bias,
                    PatternRewriter &rewriter) {
    Value x = matMul->getOperand(0), weight = matMul->getOperand(1);
    RankedTensorType inputType = staticType(x), weightType = staticType(weight),
                     outputType = staticType(op->getResult(0)),
                     biasType = staticType(bias);
    if (!inputType || !weightType || !outputType || !biasType ||
        inputType.getRank() < 2 || weightType.getRank() != 2 ||
        !isa<FloatType>(outputType.getElementType()) || !isParameter(weight))
      return false;
    int64_t columns = weightType.getDimSize(1);
    // One number a column; a bias with rows would be broadcast over other axes.
    if (biasType.getRank() < 1 || biasType.getNumElements() != columns ||
        biasType.getShape().back() != columns)
      return false;
    bias = createReshape(rewriter, helperLoc(op, "bias"), bias,
                         biasType.clone({columns}));

    bool transposed = false;
    if (Operation *transpose = producer(weight, "Transpose")) {
      auto perm = Node(transpose).integers("perm");
      if (perm.empty() || perm == ArrayRef<int64_t>{1, 0}) {
        weight = transpose->getOperand(0);
        transposed = true;
      }
    }
    SmallVector<NamedAttribute> attributes;
    if (transposed)
      attributes.push_back(
          rewriter.getNamedAttr("transB", rewriter.getI64IntegerAttr(1)));
    if (inputType.getRank() == 2) {
      replaceWithNode(rewriter, op, "Gemm", {x, weight, bias}, attributes);
      return true;
    }
    int64_t rows = outputType.getNumElements() / std::max<int64_t>(columns, 1);
    Value flat =
        createReshape(rewriter, helperLoc(matMul, "rows"), x,
                      inputType.clone({rows, inputType.getShape().back()}));
    Value gemm = createNode(rewriter, helperLoc(matMul, "gemm"), "Gemm",
                            {flat, weight, bias}, attributes,
                            {outputType.clone({rows, columns})})
                     ->getResult(0);
    replaceWithReshape(rewriter, op, gemm);
    return true;
  }
};
} // namespace

void raise::addLinearPatterns(RewritePatternSet &patterns) {
  patterns.add<RaiseLinear>(patterns.getContext(), "onnx.Add");
}
