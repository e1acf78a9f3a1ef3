// .npz: a zip archive of .npy files, found through its central directory.
#include "hethub/runtime/Npz.h"
#include "hethub/runtime/DTypes.h"
#include "hethub/runtime/Error.h"
#include "io/FileWriter.h"
#include "io/Text.h"
#include "weights/Mapping.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <zlib.h>

#include <algorithm>
#include <cstring>

using namespace hethub::runtime;

namespace {
constexpr uint32_t localMagic = 0x04034b50, centralMagic = 0x02014b50,
                   endMagic = 0x06054b50;
constexpr uint32_t end64Magic = 0x06064b50, locator64Magic = 0x07064b50;
constexpr uint32_t all32 = 0xffffffff;
constexpr uint16_t versionZip64 = 45, methodStored = 0, methodDeflated = 8,
                   zip64Extra = 1;

/// Little-endian fields of a byte range; every access is checked.
class Bytes {
public:
  Bytes(std::string_view data, const std::string &path)
      : data_(data), path_(path) {}
  template <typename T>
  T at(uint64_t offset) const {
    T value;
    std::memcpy(&value, range(offset, sizeof(T)).data(), sizeof(T));
    return value;
  }
  std::string_view range(uint64_t offset, uint64_t length) const {
    if (offset > data_.size() || length > data_.size() - offset)
      fail("cut off or damaged .npz file: ", path_);
    return data_.substr(offset, length);
  }
  uint64_t size() const { return data_.size(); }

private:
  std::string_view data_;
  const std::string &path_;
};

struct Entry {
  uint16_t method;
  uint64_t compressed, size, localHeader;
  uint32_t crc;
};

std::string inflateAll(std::string_view data, uint64_t size,
                       const std::string &name) {
  std::string result(size, '\0');
  z_stream stream{};
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK)
    fail("zlib does not start");
  // Sizes of zlib are 32 bits wide: fed and drained in parts.
  constexpr uint64_t part = 1u << 30;
  uint64_t fed = 0, drained = 0;
  int status = Z_OK;
  while (status == Z_OK) {
    stream.next_in =
        reinterpret_cast<Bytef *>(const_cast<char *>(data.data() + fed));
    stream.avail_in =
        static_cast<uInt>(std::min<uint64_t>(part, data.size() - fed));
    stream.next_out = reinterpret_cast<Bytef *>(result.data() + drained);
    stream.avail_out =
        static_cast<uInt>(std::min<uint64_t>(part, size - drained));
    uint64_t in = stream.avail_in, out = stream.avail_out;
    status = inflate(&stream, Z_NO_FLUSH);
    fed += in - stream.avail_in;
    drained += out - stream.avail_out;
    if (status == Z_OK && in == stream.avail_in && out == stream.avail_out)
      break;
  }
  inflateEnd(&stream);
  if (status != Z_STREAM_END || drained != size)
    fail("array '", name, "' does not decompress");
  return result;
}

uint32_t checksum(std::string_view data) {
  uLong crc = crc32(0, nullptr, 0);
  for (size_t done = 0; done < data.size();) {
    size_t part = std::min<size_t>(data.size() - done, 1u << 30);
    crc = crc32(crc, reinterpret_cast<const Bytef *>(data.data() + done),
                static_cast<uInt>(part));
    done += part;
  }
  return static_cast<uint32_t>(crc);
}
} // namespace

struct NpzReader::Impl {
  std::string path;
  std::shared_ptr<Mapping> mapping;
  std::string_view data;
  std::map<std::string, Entry> entries;

  void readDirectory() {
    Bytes bytes(data, path);
    // The end record is followed by a comment of at most 64 KiB.
    if (data.size() < 22)
      fail("not an .npz file: ", path);
    uint64_t lowest = data.size() > 22 + 0xffff ? data.size() - 22 - 0xffff : 0;
    uint64_t end = data.size() - 22;
    while (bytes.at<uint32_t>(end) != endMagic) {
      if (end == lowest)
        fail("not an .npz file: ", path);
      --end;
    }
    uint64_t count = bytes.at<uint16_t>(end + 10),
             position = bytes.at<uint32_t>(end + 16);
    if (end >= 20 && bytes.at<uint32_t>(end - 20) == locator64Magic) {
      uint64_t end64 = bytes.at<uint64_t>(end - 12);
      if (bytes.at<uint32_t>(end64) != end64Magic)
        fail("cut off or damaged .npz file: ", path);
      count = bytes.at<uint64_t>(end64 + 32);
      position = bytes.at<uint64_t>(end64 + 48);
    }
    for (uint64_t i = 0; i < count; ++i) {
      if (bytes.at<uint32_t>(position) != centralMagic)
        fail("cut off or damaged .npz file: ", path);
      Entry entry{
          bytes.at<uint16_t>(position + 10), bytes.at<uint32_t>(position + 20),
          bytes.at<uint32_t>(position + 24), bytes.at<uint32_t>(position + 42),
          bytes.at<uint32_t>(position + 16)};
      uint64_t nameLength = bytes.at<uint16_t>(position + 28),
               extraLength = bytes.at<uint16_t>(position + 30);
      uint64_t commentLength = bytes.at<uint16_t>(position + 32);
      std::string name(bytes.range(position + 46, nameLength));
      readZip64(bytes, position + 46 + nameLength, extraLength, entry);
      position += 46 + nameLength + extraLength + commentLength;
      if (name.ends_with(".npy"))
        name.resize(name.size() - 4);
      entries[name] = entry;
    }
  }

  // Fields that are all ones in the directory stand, in this order, in the
  // zip64 extra field.
  static void readZip64(const Bytes &bytes, uint64_t position, uint64_t length,
                        Entry &entry) {
    uint64_t end = position + length;
    while (position + 4 <= end) {
      uint16_t id = bytes.at<uint16_t>(position),
               size = bytes.at<uint16_t>(position + 2);
      if (id == zip64Extra) {
        uint64_t field = position + 4;
        for (uint64_t *value :
             {&entry.size, &entry.compressed, &entry.localHeader})
          if (*value == all32) {
            *value = bytes.at<uint64_t>(field);
            field += 8;
          }
      }
      position += 4 + size;
    }
  }

  const Entry &entryOf(const std::string &name) const {
    auto found = entries.find(name);
    if (found == entries.end())
      fail("no array '", name, "' in ", path);
    return found->second;
  }

  /// The .npy data of an entry; `storage` holds it where it had to be
  /// decompressed.
  std::string_view dataOf(const std::string &name, const Entry &entry,
                          std::string &storage) const {
    std::string_view content = contentOf(name, entry, storage);
    if (checksum(content) != entry.crc)
      fail("array '", name, "' in ", path, " has a wrong checksum");
    return content;
  }

  /// Parses the header; the elements must be there.
  ArrayHeader headerOf(const std::string &name,
                       std::string_view content) const {
    ArrayHeader header = parseNpyHeader(content, name);
    int64_t bytes = byteCount(header.dtype, header.shape);
    if (static_cast<uint64_t>(bytes) > content.size() - header.dataOffset)
      fail("array '", name, "' in ", path,
           " is cut off: ", typeName(header.dtype, header.shape), " needs ",
           bytes, " bytes, got: ", content.size() - header.dataOffset);
    return header;
  }

  std::string_view contentOf(const std::string &name, const Entry &entry,
                             std::string &storage) const {
    Bytes bytes(data, path);
    if (bytes.at<uint32_t>(entry.localHeader) != localMagic)
      fail("cut off or damaged .npz file: ", path);
    uint64_t start = entry.localHeader + 30 +
                     bytes.at<uint16_t>(entry.localHeader + 26) +
                     bytes.at<uint16_t>(entry.localHeader + 28);
    std::string_view content = bytes.range(start, entry.compressed);
    if (entry.method == methodDeflated) {
      // deflate shrinks at most 1032 times: a larger claim is a damaged size,
      // not a request for memory
      if (entry.size / 1032 > entry.compressed + 1)
        fail("array '", name, "' does not decompress");
      storage = inflateAll(content, entry.size, name);
      content = storage;
    } else if (entry.method != methodStored) {
      fail("array '", name,
           "' is compressed by an unknown method: ", entry.method);
    }
    return content;
  }
};

NpzReader::NpzReader(const std::string &path)
    : impl_(std::make_unique<Impl>()) {
  impl_->path = path;
  int64_t size = fileSize(path);
  impl_->mapping = std::make_shared<Mapping>(path, 0, size);
  impl_->data = size == 0 ? std::string_view()
                          : std::string_view(impl_->mapping->at(0),
                                             static_cast<size_t>(size));
  impl_->readDirectory();
}

NpzReader::~NpzReader() = default;

std::vector<std::string> NpzReader::names() const {
  std::vector<std::string> names;
  for (const auto &[name, entry] : impl_->entries)
    names.push_back(name);
  return names;
}

bool NpzReader::has(const std::string &name) const {
  return impl_->entries.count(name) != 0;
}

at::Tensor NpzReader::read(const std::string &name) const {
  std::string storage;
  std::string_view content = impl_->dataOf(name, impl_->entryOf(name), storage);
  ArrayHeader header = impl_->headerOf(name, content);
  int64_t bytes = byteCount(header.dtype, header.shape);
  std::vector<int64_t> stored = header.shape;
  if (header.fortranOrder)
    std::reverse(stored.begin(), stored.end());
  at::Tensor tensor =
      at::empty(stored, at::TensorOptions().dtype(header.dtype));
  if (bytes > 0)
    std::memcpy(tensor.mutable_data_ptr(), content.data() + header.dataOffset,
                static_cast<size_t>(bytes));
  if (header.isText)
    return textOf(tensor);
  if (!header.fortranOrder)
    return tensor;
  std::vector<int64_t> order;
  for (int64_t axis = tensor.dim() - 1; axis >= 0; --axis)
    order.push_back(axis);
  return tensor.permute(order).contiguous();
}

bool NpzReader::isText(const std::string &name) const {
  std::string storage;
  return impl_
      ->headerOf(name, impl_->contentOf(name, impl_->entryOf(name), storage))
      .isText;
}

ArrayView NpzReader::view(const std::string &name) const {
  const Entry &entry = impl_->entryOf(name);
  if (entry.method == methodStored) {
    std::string unused;
    std::string_view content = impl_->contentOf(name, entry, unused);
    ArrayHeader header = impl_->headerOf(name, content);
    if (!header.fortranOrder || header.shape.size() < 2)
      return {header.dtype, header.shape, content.data() + header.dataOffset,
              impl_->mapping};
  }
  auto copy = std::make_shared<at::Tensor>(read(name));
  return {copy->scalar_type(), copy->sizes().vec(),
          static_cast<const char *>(copy->const_data_ptr()), copy};
}

namespace {
const char *descriptorOf(at::ScalarType dtype) {
  switch (dtype) {
  case at::kDouble:
    return "<f8";
  case at::kFloat:
    return "<f4";
  case at::kHalf:
    return "<f2";
  case at::kBFloat16:
    return "|V2";
  case at::kLong:
    return "<i8";
  case at::kInt:
    return "<i4";
  case at::kShort:
    return "<i2";
  case at::kChar:
    return "|i1";
  case at::kByte:
    return "|u1";
  case at::kUInt16:
    return "<u2";
  case at::kUInt32:
    return "<u4";
  case at::kUInt64:
    return "<u8";
  case at::kBool:
    return "|b1";
  case at::kComplexFloat:
    return "<c8";
  case at::kComplexDouble:
    return "<c16";
  default:
    // One-byte floats have no NumPy type of their own.
    if (c10::elementSize(dtype) == 1)
      return "|V1";
    fail("no NumPy type for ", dtypeName(dtype));
  }
}

/// `isText`: the last axis holds the characters of each string.
std::string npyHeader(const at::Tensor &tensor, bool isText) {
  at::IntArrayRef sizes = tensor.sizes();
  std::string descriptor = isText ? "<U" + std::to_string(sizes.back())
                                  : descriptorOf(tensor.scalar_type());
  if (isText)
    sizes = sizes.slice(0, sizes.size() - 1);
  std::string dict =
      "{'descr': '" + descriptor + "', 'fortran_order': False, " + "'shape': (";
  for (int64_t size : sizes)
    dict += std::to_string(size) + ", ";
  dict += "), }";
  if (sizes.size() > 1) // NumPy writes (2, 3), and (2,) for one axis
    dict.replace(dict.rfind(", )"), 3, ")");
  else if (sizes.size() == 1)
    dict.replace(dict.rfind(", )"), 3, ",)");
  dict += std::string((64 - (10 + dict.size() + 1) % 64) % 64, ' ') + "\n";
  std::string header("\x93NUMPY\x01\x00", 8);
  header += static_cast<char>(dict.size() & 0xff);
  header += static_cast<char>(dict.size() >> 8);
  return header + dict;
}

/// Appends integers little endian.
class Record {
public:
  template <typename T>
  Record &add(T value) {
    text_.append(reinterpret_cast<const char *>(&value), sizeof(T));
    return *this;
  }
  Record &add(const std::string &text) {
    text_ += text;
    return *this;
  }
  operator std::string_view() const { return text_; }
  size_t size() const { return text_.size(); }

private:
  std::string text_;
};
} // namespace

void hethub::runtime::writeNpz(const std::string &path,
                               const std::vector<NamedArray> &arrays) {
  FileWriter file(path);
  constexpr uint16_t utf8Name = 1 << 11;
  constexpr uint16_t date =
      1 << 5 | 1; // 1980-01-01: the same content makes the same file
  Record directory;
  for (const auto &[name, value, isText] : arrays) {
    at::Tensor tensor = isText ? charactersOf(value) : value.cpu().contiguous();
    std::string header = npyHeader(tensor, isText), entryName = name + ".npy";
    std::string_view data(
        static_cast<const char *>(tensor.nbytes() ? tensor.const_data_ptr()
                                                  : nullptr),
        tensor.nbytes());
    uint64_t size = header.size() + data.size(), offset = file.written();
    uint32_t crc = checksum(header);
    crc = data.empty()
              ? crc
              : static_cast<uint32_t>(crc32_combine(
                    crc, checksum(data), static_cast<z_off_t>(data.size())));
    // Always with zip64 sizes, as NumPy writes them: one form for small and
    // large arrays.
    file.write(Record()
                   .add(localMagic)
                   .add(versionZip64)
                   .add(utf8Name)
                   .add(methodStored)
                   .add<uint16_t>(0)
                   .add(date)
                   .add(crc)
                   .add(all32)
                   .add(all32)
                   .add(static_cast<uint16_t>(entryName.size()))
                   .add<uint16_t>(20)
                   .add(entryName)
                   .add(zip64Extra)
                   .add<uint16_t>(16)
                   .add(size)
                   .add(size));
    file.write(header);
    file.write(data);
    directory.add(centralMagic)
        .add(versionZip64)
        .add(versionZip64)
        .add(utf8Name)
        .add(methodStored)
        .add<uint16_t>(0)
        .add(date)
        .add(crc)
        .add(all32)
        .add(all32)
        .add(static_cast<uint16_t>(entryName.size()))
        .add<uint16_t>(28)
        .add<uint16_t>(0)
        .add<uint16_t>(0)
        .add<uint16_t>(0)
        .add<uint32_t>(0)
        .add(all32)
        .add(entryName)
        .add(zip64Extra)
        .add<uint16_t>(24)
        .add(size)
        .add(size)
        .add(offset);
  }
  uint64_t directoryOffset = file.written(), count = arrays.size();
  file.write(directory);
  uint64_t end64 = file.written();
  file.write(Record()
                 .add(end64Magic)
                 .add<uint64_t>(44)
                 .add(versionZip64)
                 .add(versionZip64)
                 .add<uint32_t>(0)
                 .add<uint32_t>(0)
                 .add(count)
                 .add(count)
                 .add<uint64_t>(directory.size())
                 .add(directoryOffset)
                 .add(locator64Magic)
                 .add<uint32_t>(0)
                 .add(end64)
                 .add<uint32_t>(1));
  auto short16 = static_cast<uint16_t>(std::min<uint64_t>(count, 0xffff));
  auto short32 = [](uint64_t value) {
    return static_cast<uint32_t>(std::min<uint64_t>(value, all32));
  };
  file.write(Record()
                 .add(endMagic)
                 .add<uint32_t>(0)
                 .add(short16)
                 .add(short16)
                 .add(short32(directory.size()))
                 .add(short32(directoryOffset))
                 .add<uint16_t>(0));
  file.finish();
}
