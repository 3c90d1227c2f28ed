#pragma once
// Runs ops on the device of their tensors. Code of kernels/ reaches memory only in this way.

#include <ATen/core/Tensor.h>
#include <c10/util/ArrayRef.h>

#include <type_traits>

#include "kernels/ops/table.hpp"

namespace d9d::kernels {

// Makes `table` the op table of a device type; null removes it. The table must outlive its use. A
// device's plugin calls this when it is loaded, before the first tensor of the device. The CPU always
// has its own table.
void register_ops(at::DeviceType device, const OpTable* table);

// Of the table of the tensor's device; `other` where it has none.
Place place_of(const at::Tensor& tensor);

namespace op_detail {

// Returns the table of the device that holds all defined tensors; null entries are skipped. c10::Error
// that names the op if they are on several devices or if their device has no table.
const OpTable& table_of(const char* op, c10::ArrayRef<const at::Tensor*> tensors);
[[noreturn]] void refuse_missing(const char* op, c10::ArrayRef<const at::Tensor*> tensors);

inline const at::Tensor* tensor_in(const at::Tensor& tensor) {
  return &tensor;
}
inline const at::Tensor* tensor_in(const ExpertRows& rows) {
  return &rows.offsets;
}
inline const at::Tensor* tensor_in(const ExpertFactor& factor) {
  return &factor.matrix;
}
inline const at::Tensor* tensor_in(const RopeAngles& angles) {
  return &angles.cos;
}
inline const at::Tensor* tensor_in(const AttentionBlock& block) {
  return &block.out;
}
inline const at::Tensor* tensor_in(const ExpertRowGradients& grads) {
  return &grads.gate;
}
inline const at::Tensor* tensor_in(const ConvolutionInputs& in) {
  return in.x.data();
}
inline const at::Tensor* tensor_in(const ConvolutionParts& parts) {
  return parts.of.data();
}
template <class T>
const at::Tensor* tensor_in(const T&) {
  return nullptr;
}

inline constexpr OpTable names{};

}  // namespace op_detail

// Runs an op on the device of its tensors: run_op(&OpTable::silu_mul, gate, up). c10::Error that names the op
// and the device if the tensors are on several devices, or if their device does not have the op.
template <class Group, class Result, class... Parameters>
Result run_op(Op<Result(Parameters...)> Group::*op, std::type_identity_t<Parameters>... arguments) {
  const char* const name = (op_detail::names.*op).name();
  const at::Tensor* const tensors[] = {op_detail::tensor_in(arguments)...};
  const auto function = (op_detail::table_of(name, tensors).*op).function();
  if (function == nullptr) op_detail::refuse_missing(name, tensors);
  return function(arguments...);
}

}  // namespace d9d::kernels
