#include "runtime/device/delayed/aliases.hpp"

#include <c10/core/TensorImpl.h>

namespace d9d::delayed {

bool is_delayed(const at::Tensor& tensor) {
  return tensor.defined() && tensor.device().type() == c10::kPrivateUse1;
}

at::Tensor Aliases::of(const at::Tensor& tensor, const char* op) {
  if (!tensor.defined()) return tensor;
  if (!is_delayed(tensor)) {
    TORCH_CHECK(tensor.dim() == 0, op, " got a tensor of ", tensor.device(), " and one of a delayed device; ",
                "move them to one device");
    at::Tensor number = tensor.clone();
    if (tensor.unsafeGetTensorImpl()->is_wrapped_number())
      number.unsafeGetTensorImpl()->set_wrapped_number(true);
    return number;
  }
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

c10::IValue Aliases::of(const c10::IValue& value, const char* op) {
  return map_tensors(value, [&](const at::Tensor& tensor) { return of(tensor, op); });
}

}  // namespace d9d::delayed
