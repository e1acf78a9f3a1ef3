//===- WireFormat.cpp - parses a model without its weights ----------------===//
//
// Parsing a model with protobuf costs 1.5 times the size of its weights, and no
// file above 2 GiB parses at all. So this walks the wire format down to the
// tensors, notes where large raw data is, and hands everything else to protobuf
// message by message.
//===----------------------------------------------------------------------===//

#include "ImportDetail.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>

using google::protobuf::MessageLite;
using google::protobuf::io::CodedInputStream;
using llvm::StringRef;
using llvm::Twine;
using onnx::AttributeProto;
using onnx::FunctionProto;
using onnx::GraphProto;
using onnx::ModelProto;
using onnx::NodeProto;
using onnx::SparseTensorProto;
using onnx::TensorProto;

namespace hethub::import {

ModelFile openModel(StringRef path) {
  llvm::sys::fs::file_status status;
  if (std::error_code code = llvm::sys::fs::status(path, status))
    fail("cannot read the file: " + code.message());
  if (llvm::sys::fs::is_directory(status))
    fail("must be a file, got: a folder");
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/false,
                                            /*RequiresNullTerminator=*/false);
  if (!buffer)
    fail("cannot read the file: " + buffer.getError().message());
  ModelFile file{path.str(), llvm::sys::path::parent_path(path).str(),
                 std::move(*buffer)};
  StringRef bytes = file.bytes->getBuffer();
  if (bytes.empty())
    fail("must be an ONNX model, got: an empty file");
  if (bytes.starts_with("version https://git-lfs"))
    fail("must be an ONNX model, got: a Git LFS pointer; fetch the file itself "
         "with `git lfs pull`");
  return file;
}

namespace {

/// Messages may nest this deep, as in protobuf itself.
constexpr int maxDepth = 100;

class Walker {
public:
  explicit Walker(StringRef file) : file(file) {}

  void parse(StringRef bytes, ModelProto &model) {
    walk(bytes, model, [&](int field, StringRef payload) {
      if (field == ModelProto::kGraphFieldNumber)
        parse(payload, *model.mutable_graph());
      else if (field == ModelProto::kFunctionsFieldNumber)
        parse(payload, *model.add_functions());
      else
        // Training graphs are no part of the model that is run.
        return field == ModelProto::kTrainingInfoFieldNumber;
      return true;
    });
  }

private:
  void parse(StringRef bytes, FunctionProto &function) {
    walk(bytes, function, [&](int field, StringRef payload) {
      if (field == FunctionProto::kNodeFieldNumber)
        parse(payload, *function.add_node());
      else if (field == FunctionProto::kAttributeProtoFieldNumber)
        parse(payload, *function.add_attribute_proto());
      else
        return false;
      return true;
    });
  }

  void parse(StringRef bytes, GraphProto &graph) {
    walk(bytes, graph, [&](int field, StringRef payload) {
      if (field == GraphProto::kNodeFieldNumber)
        parse(payload, *graph.add_node());
      else if (field == GraphProto::kInitializerFieldNumber)
        parse(payload, *graph.add_initializer());
      else if (field == GraphProto::kSparseInitializerFieldNumber)
        parse(payload, *graph.add_sparse_initializer());
      else
        return false;
      return true;
    });
  }

  void parse(StringRef bytes, NodeProto &node) {
    walk(bytes, node, [&](int field, StringRef payload) {
      if (field != NodeProto::kAttributeFieldNumber)
        return false;
      parse(payload, *node.add_attribute());
      return true;
    });
  }

  void parse(StringRef bytes, AttributeProto &attribute) {
    walk(bytes, attribute, [&](int field, StringRef payload) {
      switch (field) {
      case AttributeProto::kTFieldNumber:
        parse(payload, *attribute.mutable_t());
        return true;
      case AttributeProto::kGFieldNumber:
        parse(payload, *attribute.mutable_g());
        return true;
      case AttributeProto::kSparseTensorFieldNumber:
        parse(payload, *attribute.mutable_sparse_tensor());
        return true;
      case AttributeProto::kTensorsFieldNumber:
        parse(payload, *attribute.add_tensors());
        return true;
      case AttributeProto::kGraphsFieldNumber:
        parse(payload, *attribute.add_graphs());
        return true;
      default:
        return false;
      }
    });
  }

  void parse(StringRef bytes, SparseTensorProto &tensor) {
    walk(bytes, tensor, [&](int field, StringRef payload) {
      if (field == SparseTensorProto::kValuesFieldNumber)
        parse(payload, *tensor.mutable_values());
      else if (field == SparseTensorProto::kIndicesFieldNumber)
        parse(payload, *tensor.mutable_indices());
      else
        return false;
      return true;
    });
  }

  /// Raw data, and packed floats, which have the same bytes, stay in the file
  /// when they are large.
  void parse(StringRef bytes, TensorProto &tensor) {
    StringRef data;
    int fields = 0, kind = 0;
    walk(bytes, tensor, [&](int field, StringRef payload) {
      if (field != TensorProto::kRawDataFieldNumber &&
          field != TensorProto::kFloatDataFieldNumber &&
          field != TensorProto::kDoubleDataFieldNumber)
        return false;
      ++fields;
      kind = field;
      data = payload;
      return payload.size() > maxParsedBytes;
    });
    bool large = data.size() > maxParsedBytes;
    int stored = !tensor.float_data().empty() + !tensor.int32_data().empty() +
                 !tensor.int64_data().empty() + !tensor.string_data().empty() +
                 !tensor.double_data().empty() + !tensor.uint64_data().empty() +
                 !tensor.raw_data().empty() + large;
    if (stored > 1 || (large && fields > 1))
      fail("tensor must have one kind of data: '" + tensor.name() + "'");
    if (tensor.data_location() == TensorProto::EXTERNAL) {
      if (stored)
        fail("tensor must not have data of its own when its data is external: "
             "'" +
             tensor.name() + "'");
      // Only locations that have been checked begin so.
      for (const auto &entry : tensor.external_data())
        if (entry.key() == "location" &&
            StringRef(entry.value()).starts_with("#"))
          fail("location of external data must not begin with '#': '" +
               tensor.name() + "'");
      return;
    }
    int type = tensor.data_type();
    if (large && kind != TensorProto::kRawDataFieldNumber &&
        (kind == TensorProto::kFloatDataFieldNumber
             ? type != TensorProto::FLOAT && type != TensorProto::COMPLEX64
             : type != TensorProto::DOUBLE && type != TensorProto::COMPLEX128))
      fail("tensor must have its data in the field of its type: '" +
           tensor.name() + "'");
    Source source;
    // One packed field is a slice of raw bytes; fields in pieces and varints
    // must be decoded.
    source.isMessage = fields != 1;
    StringRef slice = source.isMessage ? bytes : data;
    source.offset = slice.data() - file.data();
    source.length = slice.size();
    setSource(tensor, source, large);
  }

  /// Calls `special` for each length-delimited field; those it takes (true) are
  /// left out, everything else is parsed by protobuf.
  template <typename Special>
  void walk(StringRef bytes, MessageLite &message, Special special) {
    if (++depth > maxDepth)
      fail("messages are nested more than " + Twine(maxDepth) + " deep");
    std::string rest;
    size_t position = 0, copied = 0;
    auto keepUntil = [&](size_t end) {
      rest.append(bytes.data() + copied, end - copied);
    };
    while (position < bytes.size()) {
      size_t start = position;
      uint64_t tag = varint(bytes, position);
      int field = static_cast<int>(tag >> 3);
      if (!field || tag >> 32)
        broken(bytes, start);
      switch (tag & 7) {
      case 0:
        varint(bytes, position);
        break;
      case 1:
        skip(bytes, position, 8);
        break;
      case 2: {
        uint64_t length = varint(bytes, position);
        size_t payload = position;
        skip(bytes, position, length);
        if (special(field, bytes.substr(payload, length))) {
          keepUntil(start);
          copied = position;
        }
        break;
      }
      case 5:
        skip(bytes, position, 4);
        break;
      default:
        broken(bytes, start);
      }
    }
    keepUntil(bytes.size());
    if (rest.size() > INT_MAX)
      fail("data outside of tensors must be below 2 GiB");
    CodedInputStream stream(reinterpret_cast<const uint8_t *>(rest.data()),
                            static_cast<int>(rest.size()));
    if (!message.MergePartialFromCodedStream(&stream) ||
        !stream.ConsumedEntireMessage())
      broken(bytes, 0);
    --depth;
  }

  uint64_t varint(StringRef bytes, size_t &position) {
    uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      if (position >= bytes.size())
        truncated(bytes, position);
      uint8_t byte = bytes[position++];
      value |= static_cast<uint64_t>(byte & 127) << shift;
      if (byte < 128)
        return value;
    }
    broken(bytes, position);
  }

  void skip(StringRef bytes, size_t &position, uint64_t length) {
    if (length > bytes.size() - position)
      truncated(bytes, position);
    position += length;
  }

  [[noreturn]] void truncated(StringRef bytes, size_t position) {
    // Inside a message the outer length is wrong; at the end of the file the
    // rest is missing.
    bool atEnd = bytes.end() == file.end();
    fail(atEnd && depth == 1
             ? "is no ONNX model, or is truncated: a field at byte " +
                   Twine(bytes.data() + position - file.data()) +
                   " goes beyond the end of the file, " + Twine(file.size())
             : "is no ONNX model: a field at byte " +
                   Twine(bytes.data() + position - file.data()) +
                   " goes beyond the end of its message");
  }
  [[noreturn]] void broken(StringRef bytes, size_t position) {
    fail("is no ONNX model: no valid field at byte " +
         Twine(bytes.data() + position - file.data()));
  }

  StringRef file;
  int depth = 0;
};

} // namespace

void parseModel(const ModelFile &file, ModelProto &model) {
  StringRef bytes = file.bytes->getBuffer();
  Walker(bytes).parse(bytes, model);
  if (!model.has_graph())
    fail("is no ONNX model: it holds no graph");
}

bool parseTensor(StringRef bytes, TensorProto &tensor) {
  return bytes.size() <= INT_MAX &&
         tensor.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
}

} // namespace hethub::import
