#include "runtime/pipeline/stage/handed_tensors.hpp"

#include <ATen/ops/empty.h>

#include "kernels/memory/host_values.hpp"
#include "runtime/device/work_log.hpp"
#include "runtime/device/work_name.hpp"
#include "runtime/tensor/tensor_parcel.hpp"

namespace d9d {
namespace {

bool is_elsewhere(const at::Tensor& tensor, Device& device) {
  return tensor.device() != device.place() && !tensor.is_cpu();
}

// Copies the tensor to `device` if it is on another one. use_until() keeps the
// sender's memory until the copy is done.
at::Tensor brought(const at::Tensor& there, Device& device) {
  if (!is_elsewhere(there, device)) return there;
  const at::Tensor from = there.detach().contiguous();
  const at::Tensor here = at::empty(from.sizes(), from.options().device(device.place()));
  device.copy(here, from);
  device_of(from.device()).use_until(from, device.record());
  const at::Tensor known = there.is_floating_point() ? at::Tensor() : kernels::host_values(from);
  if (known.defined()) kernels::keep_host_values(here, known.contiguous());
  return here.requires_grad_(there.requires_grad());
}

// Starts to time the copies, if some tensor is on another device.
WorkTimer timed_copies(const TensorMap& tensors, Device& device) {
  LoggedWork copies{
      .kind = LoggedWork::Kind::transfer, .name = WorkName::current(), .stream = device.current_stream()};
  for (const auto& [name, tensor] : tensors)
    if (is_elsewhere(tensor, device)) copies.bytes += tensor.nbytes();
  if (copies.bytes == 0) return {};
  return {WorkLog::current(), device, std::move(copies)};
}

}  // namespace

void use_here(const TensorMap& tensors, Device& device) {
  if (device.is_cpu()) return;
  const StreamRole here = device.current_stream();
  for (const auto& [name, tensor] : tensors)
    if (tensor.device() == device.place()) device.use(tensor, here);
}

Ticket hand_over(TensorTable& table, TensorMap tensors, Device& device) {
  if (!device.is_cpu()) {
    // A copy between devices needs a contiguous tensor. Makes it contiguous
    // here, on the sender's own stream.
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
  use_here(parcel->tensors, device);
  WorkTimer copies = timed_copies(parcel->tensors, device);
  for (auto& [name, tensor] : parcel->tensors) tensor = brought(tensor, device);
  copies.end();
  return std::move(parcel->tensors);
}

}  // namespace d9d
