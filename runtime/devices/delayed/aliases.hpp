#pragma once
// Tensors of the CPU over the memory of a device's tensors, for work that is queued. They hold no memory: what they
// look at may be freed before they are used, as with the pointers that a GPU's kernel gets.

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

#include <utility>
#include <vector>

#include "runtime/devices/delayed/order_check.hpp"

namespace d9d::delayed {

bool is_delayed(const at::Tensor& tensor);

// Of the tensors of one op: those that share a storage do so afterwards.
class Aliases {
 public:
  // `op` is its name, a text that lives as long as the process.
  explicit Aliases(const char* op) { touched_.op = op; }

  // With sizes, strides and dtype of `tensor`, which the op reads. A number in a tensor of the CPU is copied; an
  // undefined tensor stays one. c10::Error that names the op for another tensor of the CPU.
  at::Tensor of(const at::Tensor& tensor) { return of(tensor, false); }
  // The same of one that the op writes to, or that it reads and writes.
  at::Tensor into(const at::Tensor& tensor) { return of(tensor, true); }
  at::Tensor of(const at::Tensor& tensor, bool writes);
  // The same for the tensors inside of a value.
  c10::IValue of(const c10::IValue& value, bool writes = false);

  // What the op does with the memory of all of them.
  const Touched& touched() const { return touched_; }

 private:
  Touched touched_;
  std::vector<std::pair<const c10::StorageImpl*, c10::Storage>> storages_;
};

// f(tensor) for the tensors inside of a value, put in their places; values without tensors stay as they are.
template <class F>
c10::IValue map_tensors(const c10::IValue& value, F&& f) {
  if (value.isTensor()) return f(value.toTensor());
  if (value.isTensorList()) {
    c10::List<at::Tensor> list;
    for (const at::Tensor& tensor : value.toTensorVector()) list.push_back(f(tensor));
    return list;
  }
  if (value.isList() && value.toListRef().size() > 0 &&
      value.toList().elementType()->isSubtypeOf(*c10::OptionalType::ofTensor())) {
    c10::List<std::optional<at::Tensor>> list;
    for (const c10::IValue& one : value.toListRef())
      list.push_back(one.isNone() ? std::nullopt : std::optional<at::Tensor>(f(one.toTensor())));
    return list;
  }
  return value;
}

}  // namespace d9d::delayed
