#include "runtime/device/host_stretches.hpp"

#include <algorithm>

#include "runtime/device/host_memory.hpp"

namespace d9d {
namespace {

constexpr std::int64_t alignment = 64;

std::int64_t bytes_of(const HostStretches::Wanted& wanted) {
  return c10::multiply_integers(wanted.shape) * static_cast<std::int64_t>(c10::elementSize(wanted.dtype));
}

std::int64_t aligned(std::int64_t bytes) {
  return (bytes + alignment - 1) / alignment * alignment;
}

}  // namespace

std::vector<at::Tensor> HostStretches::take(const std::vector<Wanted>& wanted) {
  std::int64_t bytes = 0;
  for (const Wanted& each : wanted) bytes += aligned(bytes_of(each));
  const at::Tensor stretch = stretch_of(bytes);
  std::vector<at::Tensor> places;
  std::int64_t begin = 0;
  for (const Wanted& each : wanted) {
    places.push_back(stretch.narrow(0, begin, bytes_of(each)).view(each.dtype).view(each.shape));
    begin += aligned(bytes_of(each));
  }
  return places;
}

at::Tensor HostStretches::stretch_of(std::int64_t bytes) {
  const auto is_free = [](const at::Tensor& stretch) { return stretch.storage().use_count() == 1; };
  const auto found = std::find_if(kept_.begin(), kept_.end(), [&](const at::Tensor& stretch) {
    return is_free(stretch) && stretch.numel() >= bytes;
  });
  if (found != kept_.end()) return *found;
  const auto too_small = std::find_if(kept_.begin(), kept_.end(), is_free);
  if (too_small != kept_.end()) {
    kept_.erase(too_small);  // frees it before a larger one is allocated
  } else if (kept_.size() == kept_max_) {
    kept_.erase(kept_.begin());
  }
  return kept_.emplace_back(host_memory(*device_, bytes, what_));
}

}  // namespace d9d
