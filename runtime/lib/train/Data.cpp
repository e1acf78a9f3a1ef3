// Samples are copied out of the mapped file one by one, so that arrays may be
// larger than memory.
#include "Data.h"
#include "ArrayFile.h"
#include "hethub/runtime/DTypes.h"
#include "hethub/runtime/Error.h"
#include "weights/Mapping.h"

#include <ATen/ops/empty.h>

#include <algorithm>
#include <cstring>

using namespace hethub::runtime;

namespace {
int64_t samplesPerMicrobatch(const StageSpec &spec) {
  return std::max<int64_t>(1, spec.microbatchAxisSize);
}

/// Inputs of all functions of the stages that come from the data.
std::vector<const PortSpec *> dataPorts(const RankStages &stages) {
  std::vector<const PortSpec *> ports;
  for (const StageSpec *spec : stages)
    for (const std::vector<PortSpec> *inputs :
         {&spec->inputs, &spec->backward.inputs, &spec->weight.inputs})
      for (const PortSpec &port : *inputs)
        if (port.index >= 0)
          ports.push_back(&port);
  return ports;
}

/// Elements of token files become those of the input, sequence by sequence.
template <typename Token, typename Element>
void convert(const char *source, char *target, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    Token token;
    std::memcpy(&token, source + i * static_cast<int64_t>(sizeof(Token)),
                sizeof(Token));
    auto element = static_cast<Element>(token);
    std::memcpy(target + i * static_cast<int64_t>(sizeof(Element)), &element,
                sizeof(Element));
  }
}

template <typename Token>
auto converterTo(at::ScalarType dtype)
    -> void (*)(const char *, char *, int64_t) {
  if (dtype == at::kLong)
    return convert<Token, int64_t>;
  if (dtype == at::kInt)
    return convert<Token, int32_t>;
  return nullptr;
}
} // namespace

int64_t hethub::runtime::samplesPerStep(const StageSpec &spec) {
  return samplesPerMicrobatch(spec) * spec.microbatches;
}

TrainData::TrainData(const RankStages &stages, const DataOptions &options,
                     uint64_t seed, at::Device device)
    : spec_(*stages[0]), options_(options), device_(device) {
  std::vector<const PortSpec *> ports = dataPorts(stages);
  if (ports.empty())
    return;
  if (options.file.empty())
    fail("input '", ports[0]->name, "' is missing: give --data FILE");
  if (options.file.ends_with(".npz") || options.file.ends_with(".safetensors"))
    openArrays(ports);
  else
    openTokens(ports);
  if (samples_ > 0 && samples_ < samplesPerStep(spec_))
    fail("the data must have at least the ", samplesPerStep(spec_),
         " samples of one step (", spec_.microbatches, " microbatches of ",
         samplesPerMicrobatch(spec_), "), got: ", samples_, " in ",
         options.file);
  setSeed(seed);
}

void TrainData::setSeed(uint64_t seed) {
  if (samples_ > 0)
    order_ = SampleOrder(samples_, seed, options_.inOrder);
}

void TrainData::openArrays(const std::vector<const PortSpec *> &ports) {
  std::shared_ptr<ArrayFile> file = openArrayFile(options_.file);
  const PortSpec *first = nullptr;
  for (const PortSpec *port : ports) {
    if (inputs_.count(port->index))
      continue;
    if (!file->has(port->name)) {
      std::string present;
      for (const std::string &name : file->names())
        present += (present.empty() ? "" : ", ") + name;
      fail("input '", port->name, "' is missing in ", options_.file,
           ", which has: ", present.empty() ? "nothing" : present);
    }
    ArrayView array = file->view(port->name);
    // The shape of one sample's part: axis 0 is shared by the samples of a
    // microbatch, or the whole input is one sample.
    int64_t perMicrobatch = samplesPerMicrobatch(spec_);
    Shape sample = port->shape, whole = port->shape;
    bool splits = spec_.microbatchAxisSize > 0 && !sample.empty() &&
                  sample[0] % perMicrobatch == 0;
    if (splits)
      sample[0] /= perMicrobatch;
    else
      sample.insert(sample.begin(), 1);
    whole = sample;
    int64_t count =
        !array.shape.empty() && sample[0] > 0 ? array.shape[0] / sample[0] : 0;
    whole[0] = count * sample[0];
    bool isSame = !splits && at::IntArrayRef(array.shape) == port->shape;
    if (array.dtype != port->dtype ||
        !(isSame || (count > 0 && array.shape == whole))) {
      whole[0] = -1;
      fail("input '", port->name, "' must be ",
           typeName(port->dtype, splits ? whole : port->shape), " in ",
           options_.file,
           splits ? " with " + std::to_string(sample[0]) +
                        " on axis 0 for each sample"
                  : std::string(),
           ", got: ", typeName(array.dtype, array.shape));
    }
    Input input;
    input.samplesPerMicrobatch = isSame ? 0 : splits ? perMicrobatch : 1;
    input.bytesPerSample =
        byteCount(port->dtype, isSame ? port->shape : sample);
    input.copy = [array, bytes = input.bytesPerSample](int64_t index,
                                                       char *target) {
      std::memcpy(target, array.data + index * bytes,
                  static_cast<size_t>(bytes));
    };
    if (!isSame && first && count != samples_)
      fail("inputs '", first->name, "' and '", port->name, "' in ",
           options_.file, " must have as many samples, got: ", samples_,
           " and ", count);
    if (!isSame) {
      samples_ = count;
      first = port;
    }
    inputs_.emplace(port->index, std::move(input));
  }
}

void TrainData::openTokens(const std::vector<const PortSpec *> &ports) {
  int64_t length = options_.sequence, bytes = fileSize(options_.file);
  if (length < 1)
    fail("a token file needs --sequence N (.npz and .safetensors files are "
         "known by their names), got: ",
         options_.file);
  int64_t width = options_.tokenType == "uint16" ? 2 : 4;
  if (bytes % width != 0)
    fail("a file of ", options_.tokenType, " tokens must have a multiple of ",
         width, " bytes, got: ", bytes, " in ", options_.file);
  // Each token but the last has a next one.
  samples_ = bytes / width > 0 ? (bytes / width - 1) / length : 0;
  if (samples_ == 0)
    fail("the data must have at least one sequence of ", length,
         " tokens and the next one, got: ", bytes / width, " tokens in ",
         options_.file);
  auto mapping = std::make_shared<Mapping>(options_.file, 0, bytes);
  int64_t perMicrobatch = samplesPerMicrobatch(spec_);
  for (const PortSpec *port : ports) {
    auto converter = width == 2 ? converterTo<uint16_t>(port->dtype)
                                : converterTo<uint32_t>(port->dtype);
    int64_t elements = byteCount(at::kByte, port->shape);
    if (!converter || elements != perMicrobatch * length)
      fail("input '", port->name, "' must be of int32 or int64 with ",
           perMicrobatch, " sequences of ", length,
           " tokens to be read from a token file, got: ",
           typeName(port->dtype, port->shape));
    Input input;
    input.samplesPerMicrobatch = perMicrobatch;
    auto element = static_cast<int64_t>(c10::elementSize(port->dtype));
    input.bytesPerSample = length * element;
    if (port->name == "attention_mask" || port->name == "position_ids") {
      // Whole sequences: every token counts, and positions count from 0.
      bool isMask = port->name == "attention_mask";
      input.copy = [=](int64_t, char *target) {
        for (int64_t i = 0; i < length; ++i) {
          auto value = static_cast<uint32_t>(isMask ? 1 : i);
          converterTo<uint32_t>(element == 8 ? at::kLong : at::kInt)(
              reinterpret_cast<const char *>(&value), target + i * element, 1);
        }
      };
    } else {
      int64_t shift = port->name == "labels" ? 1 : 0;
      input.copy = [=](int64_t sample, char *target) {
        converter(mapping->at((sample * length + shift) * width), target,
                  length);
      };
    }
    inputs_.emplace(port->index, std::move(input));
  }
}

at::Tensor TrainData::get(const PortSpec &port, int64_t position) {
  const Input &input = inputs_.at(port.index);
  at::Tensor value =
      at::empty(port.shape, at::TensorOptions().dtype(port.dtype));
  char *target = static_cast<char *>(
      value.numel() > 0 ? value.mutable_data_ptr() : nullptr);
  if (!target)
    return value.to(device_);
  if (input.samplesPerMicrobatch == 0)
    input.copy(0, target);
  for (int64_t i = 0; i < input.samplesPerMicrobatch; ++i)
    input.copy(order_.at(position + i), target + i * input.bytesPerSample);
  return value.to(device_);
}
