// The discrete Fourier transform as ONNX defines it: complex numbers are a last
// axis of 2, real ones a last axis of 1. And the filter bank that turns a
// spectrum into mel bands.
#include "hethub/runtime/ops.h"

#include <ATen/ATen.h>

#include <cmath>

namespace hethub::ops {

at::Tensor dft(const at::Tensor &x, int64_t length, int64_t axis, bool inverse,
               bool onesided) {
  TORCH_CHECK(
      x.dim() >= 2 && (x.size(-1) == 1 || x.size(-1) == 2),
      "the last axis of a signal must be 1 (real) or 2 (complex), got: ",
      x.sizes());
  TORCH_CHECK(length > 0, "a transform needs a length above 0, got: ", length);
  at::ScalarType type = x.scalar_type();
  at::Tensor wide = at::isReducedFloatingType(type) ? x.to(at::kFloat) : x;
  at::Tensor signal = wide.size(-1) == 1
                          ? wide.squeeze(-1)
                          : at::view_as_complex(wide.contiguous());
  if (inverse && onesided) {
    if (!signal.is_complex())
      signal = at::complex(signal, at::zeros_like(signal));
    return at::fft_irfft(signal, length, axis)
        .unsqueeze(-1)
        .to(type)
        .contiguous();
  }
  at::Tensor y;
  if (inverse)
    y = at::fft_ifft(signal, length, axis);
  else if (onesided && !signal.is_complex())
    y = at::fft_rfft(signal, length, axis);
  else
    y = at::fft_fft(signal, length, axis);
  if (onesided)
    y = y.narrow(axis, 0, length / 2 + 1);
  return at::view_as_real(y.resolve_conj()).to(type).contiguous();
}

static int64_t scalar(const OptionalTensor &x, int64_t fallback) {
  return x ? x->to(at::kLong).item<int64_t>() : fallback;
}

at::Tensor dft_by(const at::Tensor &x, const OptionalTensor &length,
                  const OptionalTensor &axis, bool inverse, bool onesided) {
  int64_t at = scalar(axis, -2), rank = x.dim();
  at += at < 0 ? rank : 0;
  TORCH_CHECK(at >= 0 && at < rank - 1,
              "the axis must be one of the signal's, got: ", scalar(axis, -2));
  // Of one half of a spectrum the inverse has an even length.
  int64_t size = x.size(at);
  int64_t whole = inverse && onesided ? 2 * (size - 1) : size;
  return dft(x, scalar(length, whole), at, inverse, onesided);
}

at::Tensor stft_by(const at::Tensor &signal, const at::Tensor &frame_step,
                   const OptionalTensor &window,
                   const OptionalTensor &frame_length, bool onesided) {
  at::Tensor x = signal.dim() == 2 ? signal.unsqueeze(2) : signal;
  TORCH_CHECK(x.dim() == 3, "a signal must be [batch, samples, 1 or 2], got: ",
              signal.sizes());
  int64_t step = scalar(frame_step, 0);
  int64_t length = scalar(frame_length, window ? window->numel() : x.size(1));
  TORCH_CHECK(step >= 1 && length >= 1 && length <= x.size(1),
              "frames must lie within the signal, got step ", step,
              " and length ", length);
  at::Tensor frames = x.unfold(1, length, step).transpose(2, 3);
  if (window) {
    TORCH_CHECK(window->numel() == length,
                "the window must have the length of a frame, ", length,
                ", got: ", window->numel());
    frames = frames * window->reshape({length, 1});
  }
  return dft(frames, length, 2, false, onesided);
}

at::Tensor window_of(const at::Tensor &size, std::string_view kind,
                     bool periodic, at::ScalarType dtype) {
  int64_t length = scalar(size, 0);
  bool floats = at::isFloatingType(dtype);
  auto options = at::TensorOptions()
                     .dtype(floats ? dtype : at::kFloat)
                     .device(size.device());
  at::Tensor window;
  if (kind == "blackman")
    window = at::blackman_window(length, periodic, options);
  else if (kind == "hann")
    window = at::hann_window(length, periodic, options);
  else if (kind == "hamming")
    window =
        at::hamming_window(length, periodic, 25.0 / 46, 21.0 / 46, options);
  else
    TORCH_CHECK(false, "there is no window '", kind, "'");
  return window.to(dtype);
}

/// As ONNX's own implementation has it: edges of bands are rounded down to bins
/// of the spectrum.
at::Tensor mel_weight_matrix(const at::Tensor &num_mel_bins,
                             const at::Tensor &dft_length,
                             const at::Tensor &sample_rate,
                             const at::Tensor &lower_edge_hertz,
                             const at::Tensor &upper_edge_hertz,
                             at::ScalarType dtype) {
  auto bands = num_mel_bins.to(at::kLong).item<int64_t>();
  auto length = dft_length.to(at::kLong).item<int64_t>();
  auto rate = sample_rate.to(at::kLong).item<int64_t>();
  auto low = lower_edge_hertz.to(at::kDouble).item<double>();
  auto high = upper_edge_hertz.to(at::kDouble).item<double>();
  TORCH_CHECK(bands >= 0, "num_mel_bins must be at least 0, got: ", bands);
  TORCH_CHECK(length >= 1, "dft_length must be at least 1, got: ", length);
  TORCH_CHECK(rate >= 1, "sample_rate must be at least 1, got: ", rate);
  auto toMel = [](double hertz) { return 2595 * std::log10(1 + hertz / 700); };
  auto toHertz = [](double mel) {
    return 700 * (std::pow(10, mel / 2595) - 1);
  };
  int64_t spectrum = length / 2 + 1;
  double step = (toMel(high) - toMel(low)) / static_cast<double>(bands + 2);
  std::vector<int64_t> edges;
  for (int64_t i = 0; i < bands + 2; ++i) {
    double bin = std::floor((length + 1) * toHertz(toMel(low) + i * step) /
                            static_cast<double>(rate));
    TORCH_CHECK(bin >= 0 && bin <= spectrum,
                "band edges must lie within half the sample rate, got: ", low,
                " to ", high, " Hz at ", rate, " Hz");
    edges.push_back(static_cast<int64_t>(bin));
  }
  at::Tensor result = at::zeros({spectrum, bands}, at::kDouble);
  auto weight = result.accessor<double, 2>();
  auto set = [&](int64_t bin, int64_t band, double value) {
    if (bin < spectrum)
      weight[bin][band] = value;
  };
  for (int64_t i = 0; i < bands; ++i) {
    int64_t left = edges[i], centre = edges[i + 1], right = edges[i + 2];
    if (left == centre)
      set(centre, i, 1);
    else
      for (int64_t j = left; j <= centre; ++j)
        set(j, i, static_cast<double>(j - left) / (centre - left));
    for (int64_t j = centre; j < right; ++j)
      set(j, i, static_cast<double>(right - j) / (right - centre));
  }
  return result.to(num_mel_bins.device(), dtype);
}

} // namespace hethub::ops
