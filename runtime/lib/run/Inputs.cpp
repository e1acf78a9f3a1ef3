// An input is split where its axis 0 is m times that of one microbatch; one
// that has the microbatch's own size goes to every microbatch.
#include "Inputs.h"
#include "hethub/runtime/DTypes.h"
#include "hethub/runtime/Error.h"
#include "hethub/runtime/Npz.h"

using namespace hethub::runtime;

InputFeed::InputFeed(const StageSpec &spec, const std::string &path,
                     int microbatches, at::Device device)
    : device_(device) {
  std::unique_ptr<NpzReader> file;
  for (const PortSpec &port : spec.inputs) {
    if (port.channel >= 0 || inputs_.count(port.index))
      continue;
    if (!file) {
      if (path.empty())
        fail("input '", port.name, "' is missing: give --inputs FILE.npz");
      file = std::make_unique<NpzReader>(path);
    }
    auto checkText = [&](const std::string &array) {
      if (file->isText(array) != port.isText)
        fail("input '", port.name, "' must be ",
             port.isText ? "an array of strings" : "no array of strings");
    };
    if (port.isOpen) {
      for (const std::string &array : {port.name, port.name + "[0]"})
        if (file->has(array))
          checkText(array);
      inputs_.emplace(port.index, Input{readValue(*file, port.name)});
      continue;
    }
    if (!file->has(port.name)) {
      std::string present;
      for (const std::string &name : file->names())
        present += (present.empty() ? "" : ", ") + name;
      fail("input '", port.name, "' is missing in ", path,
           ", which has: ", present.empty() ? "nothing" : present);
    }
    Input input{file->read(port.name)};
    checkText(port.name);
    // Bits of a type that NumPy lacks: one-byte floats.
    if (input.value.scalar_type() == at::kByte && at::isFloat8Type(port.dtype))
      input.value = input.value.view(port.dtype);
    Shape whole = port.shape;
    if (!whole.empty() && whole[0] > 0)
      whole[0] *= microbatches;
    bool fits = shapeFits(input.value.sizes(), port.shape);
    bool splits = !port.shape.empty() &&
                  shapeFits(input.value.sizes(), whole) &&
                  input.value.size(0) % microbatches == 0;
    if (input.value.scalar_type() != port.dtype || !(fits || splits))
      fail(
          "input '", port.name, "' must be ",
          typeName(port.dtype, splits || microbatches > 1 ? whole : port.shape),
          microbatches > 1
              ? " (" + std::to_string(microbatches) + " microbatches of " +
                    typeName(port.dtype, port.shape) + ")"
              : std::string(),
          ", got: ", typeName(input.value.scalar_type(), input.value.sizes()));
    if (microbatches > 1 && splits)
      input.step = input.value.size(0) / microbatches;
    inputs_.emplace(port.index, std::move(input));
  }
}

at::Tensor InputFeed::get(const PortSpec &port, int microbatch) const {
  const Input &input = inputs_.at(port.index);
  at::Tensor part =
      input.step ? input.value.narrow(0, microbatch * input.step, input.step)
                 : input.value;
  return port.isOpen || port.isText ? part : part.to(device_);
}
