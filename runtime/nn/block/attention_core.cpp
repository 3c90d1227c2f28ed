#include "runtime/nn/block/attention_core.hpp"

#include "kernels/attention.hpp"

namespace d9d {

at::Tensor LocalAttention::attend(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                                  double scale) const {
  return kernels::attention(q, k, v, /*causal=*/true, scale);
}

}  // namespace d9d
