#include "kernels/memory/host_values.hpp"

#include <ATen/core/LegacyTypeDispatch.h>

#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <variant>

namespace d9d::kernels {
namespace {

struct Count {
  int64_t choices, num_experts, rows;
};

struct Kept {
  c10::weak_intrusive_ptr<c10::StorageImpl> storage;
  std::uint32_t version;
  std::variant<at::Tensor, Count> known;
};

// One table for the process, because a tensor on its way through a model can be recognised
// only by its memory.
struct All {
  std::mutex mutex;
  std::map<const c10::StorageImpl*, Kept> kept;
};

All& all() {
  static const auto of_process = std::make_unique<All>();
  return *of_process;
}

std::uint32_t version_of(const at::Tensor& tensor) {
  return tensor.unsafeGetTensorImpl()->version_counter().current_version();
}

void keep(const at::Tensor& there, std::variant<at::Tensor, Count> known) {
  const std::lock_guard lock(all().mutex);
  std::erase_if(all().kept, [](const auto& entry) { return entry.second.storage.expired(); });
  const auto storage =
      c10::intrusive_ptr<c10::StorageImpl>::reclaim_copy(there.storage().unsafeGetStorageImpl());
  all().kept.insert_or_assign(storage.get(), Kept{c10::weak_intrusive_ptr<c10::StorageImpl>(storage),
                                                  version_of(there), std::move(known)});
}

// What is known of the tensor, if it is a T.
template <class T>
std::optional<T> known_of(const at::Tensor& tensor) {
  const std::lock_guard lock(all().mutex);
  const auto found = all().kept.find(tensor.storage().unsafeGetStorageImpl());
  if (found == all().kept.end() || found->second.storage.expired()) return std::nullopt;
  const T* const known = std::get_if<T>(&found->second.known);
  if (known == nullptr || found->second.version != version_of(tensor)) return std::nullopt;
  return *known;
}

}  // namespace

void keep_host_values(const at::Tensor& there, const at::Tensor& here) {
  TORCH_CHECK(there.sizes() == here.sizes() && there.is_contiguous() && here.is_contiguous() &&
                  there.storage_offset() == 0 && there.scalar_type() == here.scalar_type(),
              "keep_host_values of ", here.sizes(), " for ", there.sizes());
  if (!there.is_cpu()) keep(there, here);
}

at::Tensor host_values(const at::Tensor& tensor) {
  if (tensor.is_cpu()) return tensor;
  const std::optional<at::Tensor> here = known_of<at::Tensor>(tensor);
  if (!here || here->scalar_type() != tensor.scalar_type()) return {};
  const at::AutoDispatchBelowADInplaceOrView below_autograd;
  return here->as_strided(tensor.sizes(), tensor.strides(), here->storage_offset() + tensor.storage_offset());
}

at::Tensor fetch_host_values(const at::Tensor& tensor) {
  const at::Tensor known = host_values(tensor);
  return known.defined() ? known : tensor.to(at::kCPU);
}

void keep_count(const at::Tensor& experts, int64_t num_experts, int64_t count) {
  TORCH_CHECK(count >= 0 && count <= experts.numel(), "keep_count of ", count, " for choices ",
              experts.sizes());
  if (!experts.is_cpu()) keep(experts, Count{experts.numel(), num_experts, count});
}

std::optional<int64_t> kept_count(const at::Tensor& experts, int64_t num_experts) {
  const std::optional<Count> count = known_of<Count>(experts);
  if (!count || count->choices != experts.numel() || count->num_experts != num_experts) return std::nullopt;
  return count->rows;
}

}  // namespace d9d::kernels
