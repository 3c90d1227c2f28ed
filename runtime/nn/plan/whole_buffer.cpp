#include "runtime/nn/plan/whole_buffer.hpp"

#include <ATen/ops/empty.h>
#include <ATen/ops/set.h>

#include "runtime/base/error.hpp"
#include "runtime/device/memory_pools.hpp"

namespace d9d {
namespace {

// Views have no address of their own: they ask the storage each time, so all of them see the change. The
// storage keeps its size in bytes, because torch compares it when a view is made.
at::DataPtr take_memory(const at::Tensor& tensor) {
  return tensor.storage().unsafeGetStorageImpl()->set_data_ptr(at::DataPtr(nullptr, tensor.device()));
}

}  // namespace

WholeBuffer::WholeBuffer(std::int64_t count, const at::TensorOptions& options)
    : whole_(at::empty({count}, options)) {
  take_memory(whole_);
}

at::Tensor WholeBuffer::view(std::int64_t begin, at::IntArrayRef shape) const {
  std::int64_t count = 1;
  for (const std::int64_t size : shape) count *= size;
  return whole_.narrow(0, begin, count).view(shape);
}

at::Tensor WholeBuffer::make_memory() const {
  const PoolScope pool(MemoryPool::communication);
  return at::empty(whole_.sizes(), whole_.options());
}

void WholeBuffer::give(const at::Tensor& memory) {
  D9D_CHECK(!has_memory_, "a buffer of {} elements has memory already", whole_.numel());
  D9D_CHECK(memory.numel() == whole_.numel() && memory.scalar_type() == whole_.scalar_type(),
            "{} elements of {} for a buffer of {} of {}", memory.numel(), c10::toString(memory.scalar_type()),
            whole_.numel(), c10::toString(whole_.scalar_type()));
  whole_.storage().unsafeGetStorageImpl()->set_data_ptr_noswap(take_memory(memory));
  has_memory_ = true;
}

at::Tensor WholeBuffer::take() {
  D9D_CHECK(has_memory_, "a buffer of {} elements has no memory", whole_.numel());
  has_memory_ = false;
  at::Tensor memory = at::empty({0}, whole_.options());
  const c10::Storage storage(c10::Storage::use_byte_size_t(), whole_.storage().nbytes(), take_memory(whole_));
  return memory.set_(storage, 0, whole_.sizes(), whole_.strides());
}

}  // namespace d9d
