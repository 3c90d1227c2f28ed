#include <ATen/ops/empty.h>

#include "kernels/activation.hpp"
#include "kernels/moe.hpp"

namespace d9d::kernels {

at::Tensor moe_experts(const at::Tensor& x, const at::Tensor& probs, const at::Tensor& experts,
                       const at::Tensor& gate, const at::Tensor& up, const at::Tensor& down) {
  const auto [rows, offsets, map] = moe_permute(x, experts, gate.size(0));
  const at::Tensor hidden = silu_mul(grouped_linear(rows, gate, offsets), grouped_linear(rows, up, offsets));
  return moe_unpermute(grouped_linear(hidden, down, offsets), probs, map);
}

}  // namespace d9d::kernels
