#pragma once
// What the host knows of tensors on a device, by their memory: a tensor on its way through a model can be recognised by
// nothing else.

#include <ATen/core/Tensor.h>

#include <map>
#include <mutex>
#include <optional>

namespace d9d::kernels {

// Thread-safe. What is kept of a tensor is forgotten when it is written to, and when its memory is freed.
template <class Known>
class ByMemory {
 public:
  void keep(const at::Tensor& there, Known known) {
    const std::lock_guard lock(mutex_);
    std::erase_if(kept_, [](const auto& entry) { return entry.second.storage.expired(); });
    const auto storage =
        c10::intrusive_ptr<c10::StorageImpl>::reclaim_copy(there.storage().unsafeGetStorageImpl());
    kept_.insert_or_assign(storage.get(), Kept{c10::weak_intrusive_ptr<c10::StorageImpl>(storage),
                                               version_of(there), std::move(known)});
  }
  std::optional<Known> of(const at::Tensor& tensor) const {
    const std::lock_guard lock(mutex_);
    const auto found = kept_.find(tensor.storage().unsafeGetStorageImpl());
    if (found == kept_.end() || found->second.storage.expired()) return std::nullopt;
    if (found->second.version != version_of(tensor)) return std::nullopt;
    return found->second.known;
  }

 private:
  struct Kept {
    c10::weak_intrusive_ptr<c10::StorageImpl> storage;
    std::uint32_t version;
    Known known;
  };
  static std::uint32_t version_of(const at::Tensor& tensor) {
    return tensor.unsafeGetTensorImpl()->version_counter().current_version();
  }

  mutable std::mutex mutex_;
  std::map<const c10::StorageImpl*, Kept> kept_;
};

}  // namespace d9d::kernels
