//===- BatchedScan.cpp - the Scan of opset 8 ------------------------------===//
//
// Scan 8 runs its body for each element of a batch (axis 0) and scans along
// axis 1; Scan 9 knows no batch. The library's converter drops the batch in
// silence. A Scan over the batch around the Scan over the sequence is the same.
//===----------------------------------------------------------------------===//

#include "ImportDetail.h"

using onnx::AttributeProto;
using onnx::GraphProto;
using onnx::ModelProto;
using onnx::NodeProto;

namespace hethub::import {

/// Still in the form of opset 8, with an empty first input: the converter drops
/// that and renames `directions`.
static void wrap(NodeProto &node) {
  if (node.input_size() < 2)
    fail(describe(node) + ": must have inputs behind sequence_lens, got: " +
         llvm::Twine(node.input_size()));
  if (!node.input(0).empty())
    fail(describe(node) + ": sequence_lens of before opset 9 is not supported");
  std::string prefix = (node.output_size() ? node.output(0) : node.name());
  NodeProto inner = node;
  GraphProto body;
  body.set_name(prefix + ".element");
  for (int i = 1; i < node.input_size(); ++i) {
    std::string name = prefix + ".element_in." + std::to_string(i);
    inner.set_input(i, name);
    body.add_input()->set_name(name);
  }
  for (int i = 0; i < node.output_size(); ++i) {
    std::string name = prefix + ".element_out." + std::to_string(i);
    inner.set_output(i, name);
    body.add_output()->set_name(name);
  }
  *body.add_node() = inner;

  node.clear_attribute();
  AttributeProto *scanned = node.add_attribute();
  scanned->set_name("num_scan_inputs");
  scanned->set_type(AttributeProto::INT);
  scanned->set_i(node.input_size() - 1);
  AttributeProto *graph = node.add_attribute();
  graph->set_name("body");
  graph->set_type(AttributeProto::GRAPH);
  *graph->mutable_g() = body;
}

static void wrapAll(GraphProto &graph) {
  for (NodeProto &node : *graph.mutable_node()) {
    for (AttributeProto &attribute : *node.mutable_attribute())
      if (attribute.has_g())
        wrapAll(*attribute.mutable_g());
    if (node.op_type() == "Scan" && node.domain().empty())
      wrap(node);
  }
}

void unbatchScans(ModelProto &model) { wrapAll(*model.mutable_graph()); }

} // namespace hethub::import
