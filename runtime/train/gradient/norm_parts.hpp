#pragma once
// Shares of the gradient norm that a device has still to compute: the host waits once for all of a step.

#include <ATen/core/Tensor.h>

#include <mutex>
#include <utility>
#include <vector>

namespace d9d {

class NormParts {
 public:
  // fp64 [1], as share_of_norm_later() gives it. Any thread.
  void add(at::Tensor share) {
    const std::lock_guard lock(mutex_);
    shares_.push_back(std::move(share));
  }
  // Those since the last call, in their order.
  std::vector<at::Tensor> take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(shares_, {});
  }

 private:
  std::mutex mutex_;
  std::vector<at::Tensor> shares_;
};

}  // namespace d9d
