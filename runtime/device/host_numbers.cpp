#include "runtime/device/host_numbers.hpp"

#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include "kernels/memory/host_values.hpp"

namespace d9d {
namespace {

constexpr std::size_t pinned_bytes_max = std::size_t{16} << 20;

}  // namespace

std::vector<double> host_numbers(const std::vector<at::Tensor>& tensors) {
  std::vector<double> numbers;
  if (tensors.empty() || tensors.front().is_cpu()) {
    for (const at::Tensor& tensor : tensors) numbers.push_back(tensor.item().toDouble());
    return numbers;
  }
  std::vector<at::Tensor> wide;
  for (const at::Tensor& tensor : tensors) wide.push_back(tensor.flatten().to(at::kDouble));
  const at::Tensor here = at::cat(wide).to(at::kCPU);
  for (std::int64_t i = 0; i < here.numel(); ++i) numbers.push_back(here[i].item<double>());
  return numbers;
}

std::vector<std::int64_t> host_integers(const at::Tensor& tensor) {
  const at::Tensor here = kernels::fetch_host_values(tensor).contiguous();
  const auto* const data = here.const_data_ptr<std::int64_t>();
  return {data, data + here.numel()};
}

at::Tensor copy_later(const at::Tensor& tensor) {
  // A GPU's copy to memory that is not pinned blocks the host. Large copies (snapshots) accept that, because
  // torch keeps pinned memory for the rest of the process.
  const bool pinned = tensor.is_cuda() && tensor.nbytes() <= pinned_bytes_max;
  const at::Tensor here =
      at::empty(tensor.sizes(), tensor.options().device(at::kCPU).requires_grad(false).pinned_memory(pinned));
  return here.copy_(tensor.detach(), /*non_blocking=*/true);
}

void finish_copies(c10::Device device) {
  if (!device.is_cpu()) c10::impl::VirtualGuardImpl(device.type()).getStream(device).synchronize();
}

}  // namespace d9d
