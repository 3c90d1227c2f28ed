#include "runtime/devices/delayed/aliases.hpp"

#include <c10/core/TensorImpl.h>

namespace d9d::delayed {

bool is_delayed(const at::Tensor& tensor) {
  return tensor.defined() && tensor.device().type() == c10::kPrivateUse1;
}

namespace {

// From the first to the last byte of its elements.
Touch memory_of(const at::Tensor& tensor, bool writes) {
  const auto* const data = static_cast<const std::byte*>(
      tensor.storage().unsafeGetStorageImpl()->_mutable_data_ptr_no_checks().get());
  if (data == nullptr || tensor.numel() == 0) return {};
  std::int64_t last = tensor.storage_offset();
  for (std::int64_t dim = 0; dim < tensor.dim(); ++dim) last += (tensor.size(dim) - 1) * tensor.stride(dim);
  const auto bytes = static_cast<std::int64_t>(tensor.element_size());
  const auto begin = reinterpret_cast<std::uintptr_t>(data + tensor.storage_offset() * bytes);
  return {begin, reinterpret_cast<std::uintptr_t>(data + (last + 1) * bytes), writes};
}

}  // namespace

at::Tensor Aliases::of(const at::Tensor& tensor, bool writes) {
  if (!tensor.defined()) return tensor;
  if (!is_delayed(tensor)) {
    TORCH_CHECK(tensor.dim() == 0, touched_.op, " got a tensor of ", tensor.device(),
                " and one of a delayed device; ", "move them to one device");
    at::Tensor number = tensor.clone();
    if (tensor.unsafeGetTensorImpl()->is_wrapped_number())
      number.unsafeGetTensorImpl()->set_wrapped_number(true);
    return number;
  }
  const Touch touch = memory_of(tensor, writes);
  if (touch.begin < touch.end) touched_.memory.push_back(touch);
  const c10::StorageImpl* const key = tensor.storage().unsafeGetStorageImpl();
  c10::Storage storage;
  for (const auto& [seen, alias] : storages_) {
    if (seen == key) storage = alias;
  }
  if (!storage) {
    c10::DataPtr data(tensor.storage().unsafeGetStorageImpl()->_mutable_data_ptr_no_checks().get(),
                      c10::Device(c10::kCPU));
    storage = c10::make_intrusive<c10::StorageImpl>(
        c10::StorageImpl::use_byte_size_t(), tensor.storage().nbytes(), std::move(data), nullptr, false);
    storages_.emplace_back(key, storage);
  }
  auto impl = c10::make_intrusive<c10::TensorImpl>(
      std::move(storage), c10::DispatchKeySet(c10::DispatchKey::CPU), tensor.dtype());
  impl->set_sizes_and_strides(tensor.sizes(), tensor.strides(), tensor.storage_offset());
  return at::Tensor(std::move(impl));
}

c10::IValue Aliases::of(const c10::IValue& value, bool writes) {
  return map_tensors(value, [&](const at::Tensor& tensor) { return of(tensor, writes); });
}

}  // namespace d9d::delayed
