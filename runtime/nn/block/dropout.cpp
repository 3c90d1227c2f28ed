#include "runtime/nn/block/dropout.hpp"

#include <ATen/ops/mul.h>
#include <ATen/ops/tensor.h>
#include <fmt/format.h>

#include <cmath>
#include <vector>

#include "runtime/base/rng.hpp"
#include "runtime/device/upload.hpp"
#include "runtime/tensor/microbatch_scope.hpp"

namespace d9d {
namespace {

// The factor of each element: 0 where its word of the stream is below p 2^32, else 1 / (1 - p). An
// element of the stream has four words.
at::Tensor mask_of(const at::Tensor& x, double p, const RandomStream& stream) {
  std::vector<float> values(static_cast<std::size_t>(x.numel()));
  const auto kept = static_cast<float>(1 / (1 - p));
  const double threshold = std::ldexp(p, 32);
  for (std::int64_t i = 0; i < x.numel(); i += 4) {
    const auto words = stream.words(static_cast<std::uint64_t>(i) / 4);
    for (std::int64_t j = 0; j < 4 && i + j < x.numel(); ++j) {
      values[static_cast<std::size_t>(i + j)] = words[static_cast<std::size_t>(j)] < threshold ? 0.0F : kept;
    }
  }
  return upload(at::tensor(values).view(x.sizes()).to(x.scalar_type()), device_of(x.device()));
}

}  // namespace

at::Tensor dropout(const at::Tensor& x, double p, std::string_view name) {
  if (p == 0) return x;
  const MicrobatchPlace& place = MicrobatchScope::current();
  const RandomStream stream(place.seed, fmt::format("dropout:{}:{}", name, place.microbatch), place.step);
  return at::mul(x, mask_of(x, p, stream));
}

}  // namespace d9d
