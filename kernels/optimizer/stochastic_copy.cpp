#include "kernels/optimizer/stochastic_copy.hpp"

#include <algorithm>

#include "kernels/run_op.hpp"

namespace d9d::kernels {

void stochastic_copy(const at::Tensor& source, const at::Tensor& target, const RandomKey& key) {
  stochastic_copy(source, target, key, {.run = std::max<int64_t>(source.numel(), 1)});
}

void stochastic_copy(const at::Tensor& source, const at::Tensor& target, const RandomKey& key,
                     const BlockPlace& place) {
  TORCH_CHECK(source.scalar_type() == at::kFloat && target.scalar_type() == at::kBFloat16 &&
                  source.sizes() == target.sizes(),
              "stochastic_copy of ", source.scalar_type(), " ", source.sizes(), " to ", target.scalar_type(),
              " ", target.sizes(), ": expected float32 to bfloat16 of one shape");
  TORCH_CHECK(target.is_contiguous(), "stochastic_copy to ", target.sizes(), " with strides ",
              target.strides(), ": the target has to be contiguous, because it is written in place");
  run_op(&OpTable::stochastic_copy, source.contiguous(), target, key, place);
}

}  // namespace d9d::kernels
