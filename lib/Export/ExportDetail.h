//===- ExportDetail.h - the steps of an export -----------------*- C++ -*-===//

#ifndef HETHUB_LIB_EXPORT_EXPORTDETAIL_H
#define HETHUB_LIB_EXPORT_EXPORTDETAIL_H

#include "hethub/Dialect/HH/IR/HHDialect.h"
#include "hethub/Export/ModelFiles.h"

#include "mlir/IR/BuiltinOps.h"
#include "onnx/onnx_pb.h"
#include "llvm/Support/raw_ostream.h"

#include <functional>
#include <string>

namespace hethub::exporter {

/// Gives a tensor message, whose type and dims are set, its values: data, or
/// where they are. Emits an error on failure.
using PlaceParameter =
    std::function<llvm::LogicalResult(hh::ParameterOp, ::onnx::TensorProto &)>;

/// Points at the files that hold the weights, as seen from `folder`.
PlaceParameter referenceFrom(llvm::StringRef folder);

/// A data file: place() gives each tensor its part, write() copies them.
class DataFile {
public:
  explicit DataFile(llvm::StringRef name) : name(name.str()) {}
  llvm::LogicalResult place(hh::ParameterOp parameter,
                            ::onnx::TensorProto &tensor);
  llvm::LogicalResult write(llvm::raw_ostream &os) const;
  bool empty() const { return parts.empty(); }

private:
  struct Part {
    hh::ParameterOp parameter;
    int64_t offset;
  };
  std::string name;
  int64_t size = 0;
  std::vector<Part> parts;
};

/// An input or output of a graph.
struct Port {
  mlir::Value value;
  ::onnx::ValueInfoProto info; ///< with its name
};

/// Writes the operations of a block as nodes of a graph, and what the graph
/// needs of the module: weights, also those that nobody reads, sub-graphs,
/// declared types.
llvm::LogicalResult writeGraph(mlir::ModuleOp module, mlir::Block &block,
                               llvm::ArrayRef<Port> inputs,
                               llvm::ArrayRef<Port> outputs,
                               const PlaceParameter &place,
                               ::onnx::GraphProto &graph);

/// Name, type, names of dims and texts of an input or output of @main.
::onnx::ValueInfoProto portInfo(mlir::DictionaryAttr attributes,
                                mlir::Type type);

/// Versions, texts and metadata, which are those of the module; the opsets that
/// the nodes of `block` need.
llvm::LogicalResult writeFacts(mlir::ModuleOp module, mlir::Block &block,
                               int64_t opset, bool ownOpset,
                               ::onnx::ModelProto &model);

/// The lowest opset of the default domain, from `floor` on, at which all nodes
/// in `block` are what they are at the newest one. `blame` is a node that
/// needs it, or null.
int64_t lowestOpset(mlir::Block &block, int64_t floor, mlir::Operation *&blame);

} // namespace hethub::exporter

#endif // HETHUB_LIB_EXPORT_EXPORTDETAIL_H
