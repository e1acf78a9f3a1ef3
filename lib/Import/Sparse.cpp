//===- Sparse.cpp - sparse tensors to dense ones, computed by the model ---===//

#include "ImportDetail.h"

using llvm::ArrayRef;
using onnx::AttributeProto;
using onnx::GraphProto;
using onnx::ModelProto;
using onnx::NodeProto;
using onnx::SparseTensorProto;
using onnx::TensorProto;

namespace hethub::import {

namespace {

/// Writes nodes in front of those that a graph has.
class Densifier {
public:
  explicit Densifier(GraphProto &graph) : graph(graph) {}

  /// result = Reshape(ScatterND(ConstantOfShape(sizes), indices, values), dims)
  void expand(SparseTensorProto &sparse, const std::string &result) {
    TensorProto &values = *sparse.mutable_values();
    TensorProto &indices = *sparse.mutable_indices();
    ArrayRef<int64_t> dims(sparse.dims().data(), sparse.dims().size());
    // Indices are linear [n], or one row of coordinates an element [n, rank].
    bool linear = indices.dims_size() == 1;
    llvm::SmallVector<int64_t> sizes(dims);
    if (linear) {
      int64_t count = 1;
      for (int64_t dim : dims)
        count *= dim;
      sizes.assign({count});
      indices.add_dims(1);
    }
    values.set_name(result + ".values");
    indices.set_name(result + ".indices");
    integers(result + ".sizes", sizes);
    NodeProto *zeros =
        node("ConstantOfShape", {result + ".sizes"}, result + ".zeros");
    AttributeProto *value = zeros->add_attribute();
    value->set_name("value");
    value->set_type(AttributeProto::TENSOR);
    TensorProto *zero = value->mutable_t();
    zero->set_data_type(values.data_type());
    zero->add_dims(1);
    zero->mutable_raw_data()->assign(ox::elementBits(values.data_type()) / 8,
                                     '\0');
    node("ScatterND", {result + ".zeros", indices.name(), values.name()},
         linear ? result + ".flat" : result);
    if (linear) {
      integers(result + ".dims", dims);
      node("Reshape", {result + ".flat", result + ".dims"}, result);
    }
    graph.add_initializer()->Swap(&values);
    graph.add_initializer()->Swap(&indices);
  }

  /// Moves the nodes made so far in front of all that the graph has.
  void finish() {
    for (NodeProto &old : *graph.mutable_node())
      added.Add()->Swap(&old);
    graph.mutable_node()->Swap(&added);
  }

private:
  NodeProto *node(const char *type, std::vector<std::string> inputs,
                  const std::string &output) {
    NodeProto *result = added.Add();
    result->set_op_type(type);
    for (const std::string &input : inputs)
      result->add_input(input);
    result->add_output(output);
    result->set_name(output);
    return result;
  }

  void integers(const std::string &name, ArrayRef<int64_t> values) {
    TensorProto *tensor = graph.add_initializer();
    tensor->set_name(name);
    tensor->set_data_type(TensorProto::INT64);
    tensor->add_dims(values.size());
    tensor->mutable_raw_data()->assign(
        reinterpret_cast<const char *>(values.data()),
        values.size() * sizeof(int64_t));
  }

  GraphProto &graph;
  google::protobuf::RepeatedPtrField<NodeProto> added;
};

} // namespace

void densify(ModelProto &model) {
  forEachGraph(*model.mutable_graph(), [](GraphProto &graph) {
    Densifier densifier(graph);
    for (SparseTensorProto &sparse : *graph.mutable_sparse_initializer()) {
      std::string name = sparse.values().name();
      densifier.expand(sparse, name);
    }
    graph.clear_sparse_initializer();
    auto *nodes = graph.mutable_node();
    for (int i = 0; i < nodes->size();) {
      NodeProto &node = *nodes->Mutable(i);
      if (node.op_type() == "Constant" && node.attribute_size() == 1 &&
          node.attribute(0).has_sparse_tensor()) {
        densifier.expand(*node.mutable_attribute(0)->mutable_sparse_tensor(),
                         node.output(0));
        nodes->DeleteSubrange(i, 1);
        continue;
      }
      ++i;
    }
    densifier.finish();
  });
}

} // namespace hethub::import
