#include "runtime/devices/delayed/torch_ops.hpp"

#include <ATen/EmptyTensor.h>
#include <ATen/ExpandUtils.h>
#include <ATen/ops/_local_scalar_dense.h>
#include <ATen/ops/_reshape_alias_native.h>
#include <ATen/ops/abs.h>
#include <ATen/ops/as_strided_native.h>
#include <ATen/ops/dot.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/index_select.h>
#include <ATen/ops/result_type.h>
#include <ATen/ops/unfold_native.h>
#include <ATen/ops/view_native.h>
#include <ATen/ops/where.h>
#include <c10/core/Allocator.h>
#include <torch/library.h>

#include "runtime/device/device.hpp"
#include "runtime/device/host_waits.hpp"
#include "runtime/devices/delayed/aliases.hpp"
#include "runtime/devices/delayed/machine.hpp"

namespace d9d::delayed {
namespace {

constexpr c10::DispatchKeySet keys(c10::DispatchKey::PrivateUse1);

// The device that an argument asks for, else the thread's.
int index_of(std::optional<at::Device> device) {
  return device && device->has_index() ? device->index() : current().device;
}
int index_of(const at::Tensor& tensor) {
  return tensor.device().index();
}

at::Tensor empty(at::IntArrayRef size, std::optional<at::ScalarType> dtype,
                 std::optional<at::Layout> /*layout*/, std::optional<at::Device> device,
                 std::optional<bool> /*pin_memory*/, std::optional<at::MemoryFormat> format) {
  const OnDevice there(index_of(device));
  return at::detail::empty_generic(size, c10::GetAllocator(c10::kPrivateUse1), keys,
                                   dtype.value_or(at::kFloat), format);
}

at::Tensor empty_strided(at::IntArrayRef size, at::IntArrayRef stride, std::optional<at::ScalarType> dtype,
                         std::optional<at::Layout> /*layout*/, std::optional<at::Device> device,
                         std::optional<bool> /*pin_memory*/) {
  const OnDevice there(index_of(device));
  return at::detail::empty_strided_generic(size, stride, c10::GetAllocator(c10::kPrivateUse1), keys,
                                           dtype.value_or(at::kFloat));
}

// Only for tensors that have no elements yet, as results that torch makes before it knows their sizes.
const at::Tensor& resize(const at::Tensor& self, at::IntArrayRef size,
                         std::optional<at::MemoryFormat> /*format*/) {
  const OnDevice there(index_of(self));
  const auto bytes = at::detail::computeStorageNbytesContiguous(size, self.element_size());
  c10::StorageImpl* const storage = self.storage().unsafeGetStorageImpl();
  if (bytes > storage->nbytes()) {
    TORCH_CHECK(self.numel() == 0, "resize_ of a tensor with elements is not supported on a delayed device");
    storage->set_data_ptr_noswap(c10::GetAllocator(c10::kPrivateUse1)->allocate(bytes));
    storage->set_nbytes(bytes);
  }
  self.unsafeGetTensorImpl()->set_sizes_contiguous(size);
  return self;
}

void queue_copy(const Aliases& aliases, const at::Tensor& from, const at::Tensor& into) {
  machine(current().device).enqueue(current().stream(), aliases.touched(), [from, into] {
    into.copy_(from);
  });
}

// As CUDA does: behind the current streams of both, and before what both are given next.
void copy_between(const at::Tensor& self, const at::Tensor& into) {
  Device& from = d9d::device_of(self.device());
  Device& to = d9d::device_of(into.device());
  to.wait(from.record());
  to.copy(into, self);
  const Event done = to.record();
  from.wait(done);
  from.use_until(self, done);
}

// `non_blocking`: memory of the host is used when the copy runs, as pinned memory is; it is held until then.
// Otherwise it is read before the call returns, and written before it returns.
at::Tensor copy_from(const at::Tensor& self, const at::Tensor& into, bool non_blocking) {
  if (self.numel() == 0) return into;
  const OnDevice there(index_of(is_delayed(self) ? self : into));
  Aliases aliases("copy_");
  if (is_delayed(self) && is_delayed(into) && self.device() != into.device()) {
    copy_between(self, into);
  } else if (is_delayed(self) && is_delayed(into)) {
    const at::Tensor from = aliases.of(self);
    queue_copy(aliases, from, aliases.into(into));
  } else if (is_delayed(into)) {
    // A GPU's host then waits for the stream, also for what it was given before.
    if (!non_blocking) HostWaits::count("copy_ to the device");
    const at::Tensor there = aliases.into(into);
    queue_copy(aliases, non_blocking ? self.detach() : self.detach().clone(), there);
  } else if (non_blocking) {
    const at::Tensor from = aliases.of(self);
    queue_copy(aliases, from, into.detach());
  } else {
    HostWaits::count("copy_ to the host");
    const at::Tensor alias = aliases.of(self);
    machine(current().device).run_behind(current().stream(), aliases.touched(), [&] {
      into.detach().copy_(alias);
    });
  }
  return into;
}

at::Scalar read_number(const at::Tensor& self) {
  HostWaits::count("item");
  const OnDevice there(index_of(self));
  Aliases aliases("item");
  const at::Tensor alias = aliases.of(self);
  at::Scalar number;
  machine(current().device).run_behind(current().stream(), aliases.touched(), [&] {
    number = at::_local_scalar_dense(alias);
  });
  return number;
}

// Torch has it for meta tensors in Python only.
at::Tensor index_select(const at::Tensor& self, int64_t dim, const at::Tensor& index) {
  const OnDevice there(index_of(self));
  std::vector<int64_t> sizes = self.sizes().vec();
  const auto at_dim = static_cast<std::size_t>(dim < 0 ? dim + self.dim() : dim);
  sizes.at(at_dim) = index.numel();
  at::Tensor result = at::empty(sizes, self.options());
  Aliases aliases("index_select");
  const auto work = [from = aliases.of(self), index = aliases.of(index), into = aliases.into(result),
                     dim]() mutable { at::index_select_out(into, from, dim, index); };
  machine(current().device).enqueue(current().stream(), aliases.touched(), work);
  return result;
}

// Nor these.
at::Tensor abs(const at::Tensor& self) {
  at::Tensor result = at::empty_like(self);
  return at::abs_out(result, self);
}

at::Tensor where(const at::Tensor& condition, const at::Tensor& self, const at::Tensor& other) {
  // Numbers may come from the host.
  const at::Tensor& on_device = is_delayed(condition) ? condition : is_delayed(self) ? self : other;
  const OnDevice there(index_of(on_device));
  const std::vector<int64_t> sizes =
      at::infer_size(condition.sizes(), at::infer_size(self.sizes(), other.sizes()));
  at::Tensor result = at::empty(sizes, on_device.options().dtype(at::result_type(self, other)));
  return at::where_out(result, condition, self, other);
}

at::Tensor dot(const at::Tensor& self, const at::Tensor& other) {
  const OnDevice there(index_of(self));
  at::Tensor result = at::empty({}, self.options());
  Aliases aliases("dot");
  const auto work = [a = aliases.of(self), b = aliases.of(other), into = aliases.into(result)] {
    into.copy_(at::dot(a, b));
  };
  machine(current().device).enqueue(current().stream(), aliases.touched(), work);
  return result;
}

at::Tensor& set_storage(at::Tensor& self, c10::Storage storage, int64_t offset, at::IntArrayRef size,
                        at::IntArrayRef stride) {
  self.unsafeGetTensorImpl()->set_storage_keep_dtype(std::move(storage));
  self.unsafeGetTensorImpl()->set_sizes_and_strides(size, stride, offset);
  return self;
}

void record_stream(at::Tensor& self, c10::Stream stream) {
  machine(self.device().index()).use(self.storage().data_ptr(), static_cast<int>(stream.id()));
}

}  // namespace

void add_torch_ops(torch::Library& aten) {
  aten.impl("empty.memory_format", empty);
  aten.impl("empty_strided", empty_strided);
  aten.impl("resize_", resize);
  aten.impl("view", at::native::view);
  aten.impl("as_strided", at::native::as_strided_tensorimpl);
  aten.impl("_reshape_alias", at::native::_reshape_alias);
  aten.impl("unfold", at::native::unfold);
  aten.impl("_copy_from", copy_from);
  aten.impl("_local_scalar_dense", read_number);
  aten.impl("index_select", index_select);
  aten.impl("abs", abs);
  aten.impl("dot", dot);
  aten.impl("where.self", where);
  aten.impl("set_.source_Storage_storage_offset", set_storage);
  aten.impl("record_stream", record_stream);
}

}  // namespace d9d::delayed
