#include "kernels/memory/chosen_rows.hpp"

#include "kernels/memory/host_values.hpp"

namespace d9d::kernels {

int64_t count_rows(const at::Tensor& experts, int64_t num_experts) {
  const at::Tensor known = host_values(experts);
  if (!known.defined()) return kept_count(experts, num_experts).value_or(experts.numel());
  return known.ge(0).logical_and(known.lt(num_experts)).nonzero().size(0);
}

}  // namespace d9d::kernels
