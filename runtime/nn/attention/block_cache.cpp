#include "runtime/nn/attention/block_cache.hpp"

#include <ATen/ops/tensor.h>

#include "runtime/device/upload.hpp"

namespace d9d {

std::int64_t NewTokens::counted() const {
  std::int64_t sum = 0;
  for (const kernels::CacheStretch& stretch : stretches) sum += stretch.count;
  return sum;
}

at::Tensor NewTokens::positions(std::int64_t total) const {
  std::vector<std::int64_t> positions;
  for (const kernels::CacheStretch& stretch : stretches) {
    for (std::int64_t i = 0; i < stretch.count; ++i) positions.push_back(stretch.past + i);
  }
  positions.resize(static_cast<std::size_t>(total), 0);
  return at::tensor(positions, at::kLong).unsqueeze(0);
}

at::Tensor NewTokens::lengths(std::int64_t total) const {
  std::vector<std::int64_t> lengths;
  for (const kernels::CacheStretch& stretch : stretches)
    lengths.resize(lengths.size() + static_cast<std::size_t>(stretch.count), stretch.past + stretch.count);
  lengths.resize(static_cast<std::size_t>(total), lengths.empty() ? 1 : lengths.back());
  return at::tensor(lengths, at::kLong).unsqueeze(0);
}

const at::Tensor& NewTokens::indices(const std::vector<std::int64_t>& numbers, c10::Device place) const {
  at::Tensor& there = uploaded[{numbers, place.str()}];
  if (!there.defined()) there = upload(at::tensor(numbers, at::kLong), device_of(place));
  return there;
}

}  // namespace d9d
