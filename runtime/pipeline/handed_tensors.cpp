#include "runtime/pipeline/handed_tensors.hpp"

#include <ATen/ops/empty.h>

#include "kernels/host_values.hpp"
#include "runtime/tensor/tensor_parcel.hpp"

namespace d9d {
namespace {

// The sender's memory is used again behind the copy.
at::Tensor brought(const at::Tensor& there, Device& device) {
  if (there.device() == device.place() || there.is_cpu()) return there;
  const at::Tensor from = there.detach().contiguous();
  const at::Tensor here = at::empty(from.sizes(), from.options().device(device.place()));
  device.copy(here, from);
  device_of(from.device()).use_until(from, device.record());
  const at::Tensor known = there.is_floating_point() ? at::Tensor() : kernels::host_values(from);
  if (known.defined()) kernels::keep_host_values(here, known.contiguous());
  return here.requires_grad_(there.requires_grad());
}

}  // namespace

Ticket hand_over(TensorTable& table, TensorMap tensors, Device& device) {
  if (!device.is_cpu()) {
    // What is taken is copied as a whole, which has to be in one piece: made so here, on its own stream.
    for (auto& [name, tensor] : tensors) {
      if (!tensor.is_contiguous()) {
        tensor = tensor.detach().contiguous().requires_grad_(tensor.requires_grad());
      }
    }
  }
  return table.put(std::make_unique<TensorParcel>(std::move(tensors), device.record()));
}

TensorMap take_over(TensorTable& table, Ticket ticket, Device& device) {
  const auto parcel = table.take_as<TensorParcel>(ticket);
  if (device.is_cpu()) return std::move(parcel->tensors);
  device.wait(parcel->filled);
  for (auto& [name, tensor] : parcel->tensors) tensor = brought(tensor, device);
  return std::move(parcel->tensors);
}

}  // namespace d9d
