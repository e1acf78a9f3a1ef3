//===- ProfileWork.cpp - the work behind measured times -------------------===//

#include "hethub/Cost/ProfileWork.h"

#include "hethub/Cost/Signature.h"
#include "hethub/Dialect/ONNX/IR/Work.h"

using namespace mlir;
using namespace hethub;
using namespace hethub::cost;

static StringRef nameOf(hh::OpClass opClass) {
  switch (opClass) {
  case hh::OpClass::View:
    return "View";
  case hh::OpClass::Elementwise:
    return "Elementwise";
  case hh::OpClass::Reduction:
    return "Reduction";
  case hh::OpClass::Normalization:
    return "Normalization";
  case hh::OpClass::MatMul:
    return "MatMul";
  case hh::OpClass::Convolution:
    return "Convolution";
  case hh::OpClass::Attention:
    return "Attention";
  case hh::OpClass::Gather:
    return "Gather";
  case hh::OpClass::Recurrent:
    return "Recurrent";
  case hh::OpClass::Other:
    return "Other";
  }
  return "Other";
}

llvm::json::Value cost::profileWork(const Profile &profile,
                                    const cluster::DeviceType &type,
                                    MLIRContext *context) {
  llvm::json::Array operations;
  for (const auto &entry : profile.operations) {
    Operation *op = nullptr;
    OwningOpRef<ModuleOp> module = parseSignature(entry.first(), context, op);
    if (!module)
      continue;
    hh::OpWork work = ox::workOf(op);
    RooflineTerms terms = rooflineTerms(work, computedType(op), type);
    operations.push_back(llvm::json::Object{
        {"signature", entry.first()},
        {"class", nameOf(work.opClass)},
        {"flops", terms.flops},
        {"peak_flops_per_s", terms.peak},
        {"bytes", terms.bytes},
        {"bytes_per_s", terms.bandwidth},
        {"forward_s", entry.second.forward},
        {"roofline_s", rooflineTimes(work, computedType(op), type).forward}});
  }
  llvm::sort(operations, [](const auto &a, const auto &b) {
    return *a.getAsObject()->getString("signature") <
           *b.getAsObject()->getString("signature");
  });
  return llvm::json::Object{{"kind", type.kind},
                            {"launch_s", type.launchOverhead},
                            {"operations", std::move(operations)}};
}
