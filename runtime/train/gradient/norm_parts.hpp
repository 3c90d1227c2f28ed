#pragma once
// Collects shares of the gradient norm that a device computes later, so that the
// host waits once per step for all.

#include <ATen/core/Tensor.h>

#include <mutex>
#include <utility>
#include <vector>

namespace d9d {

class NormParts {
 public:
  // `share`: the result of share_of_norm_later(), fp64 [1]. Any thread.
  void add(at::Tensor share) {
    const std::lock_guard lock(mutex_);
    shares_.push_back(std::move(share));
  }
  // Returns the shares that were added since the last call, in their order.
  std::vector<at::Tensor> take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(shares_, {});
  }

 private:
  std::mutex mutex_;
  std::vector<at::Tensor> shares_;
};

}  // namespace d9d
