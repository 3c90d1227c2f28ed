#include "runtime/train/frozen_parameters.hpp"

#include <map>
#include <utility>

#include "runtime/tensor/flat_place.hpp"
#include "runtime/train/flat_buffer.hpp"

namespace d9d {
namespace {

bool is_joined(const StageParameter& parameter) {
  return !parameter.unit && !parameter.tensor.requires_grad();
}

std::int64_t elements_of(const at::Tensor& tensor) {
  return rounded_up(tensor.numel(), alignment_bytes / static_cast<std::int64_t>(tensor.element_size()));
}

void join(const std::vector<at::Tensor>& tensors, bool keep_values) {
  std::int64_t total = 0;
  for (const at::Tensor& tensor : tensors) total += elements_of(tensor);
  const at::Tensor& first = tensors.front();
  const at::Tensor all = zeroed_flat_buffer(total, first.scalar_type(), first.device());
  std::int64_t begin = 0;
  for (const at::Tensor& tensor : tensors) {
    move_into(all.narrow(0, begin, tensor.numel()), tensor, keep_values);
    begin += elements_of(tensor);
  }
}

}  // namespace

std::int64_t gaps_of_frozen(const std::vector<StageParameter>& parameters) {
  std::int64_t gaps = 0;
  for (const StageParameter& parameter : parameters)
    if (is_joined(parameter)) gaps += elements_of(parameter.tensor) - parameter.tensor.numel();
  return gaps;
}

void join_frozen(const std::vector<StageParameter>& parameters, bool keep_values) {
  std::map<std::pair<at::ScalarType, std::string>, std::vector<at::Tensor>> alike;
  for (const StageParameter& parameter : parameters) {
    if (!is_joined(parameter)) continue;
    alike[{parameter.tensor.scalar_type(), parameter.tensor.device().str()}].push_back(parameter.tensor);
  }
  for (const auto& [key, tensors] : alike) join(tensors, keep_values);
}

}  // namespace d9d
