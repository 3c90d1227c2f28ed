#pragma once
// All entries of the op table.

#include <cstddef>

#include "kernels/ops/table.hpp"

namespace d9d::kernels {

// Calls f.operator()<&OpTable::op>() for every op. Returns the number of ops.
template <class F>
std::size_t for_each_op(F&& f) {
  using T = OpTable;
  const auto all = [&f]<auto... ops>() {
    (f.template operator()<ops>(), ...);
    return sizeof...(ops);
  };
  return all.template operator()<
      &T::matmul, &T::add_scaled, &T::silu_mul, &T::silu_mul_backward, &T::gelu_mul, &T::gelu_mul_backward,
      &T::gelu_erf_mul, &T::gelu_erf_mul_backward, &T::rms_norm, &T::rms_norm_backward, &T::layer_norm,
      &T::layer_norm_backward, &T::embedding, &T::embedding_dw, &T::rope, &T::rope_backward,
      &T::attention_block, &T::attention_block_backward, &T::merge_attention_block, &T::write_cache,
      &T::cached_attention, &T::delta_rule_steps, &T::valid_tokens, &T::cross_entropy,
      &T::vocabulary_statistics, &T::join_vocabulary, &T::cross_entropy_of_part, &T::cross_entropy_online,
      &T::uniform_value, &T::moe_router, &T::moe_router_backward, &T::expert_order, &T::choice_owners,
      &T::spread_rows, &T::combine_rows, &T::row_dots, &T::grouped_product, &T::grouped_dw, &T::expert_rows,
      &T::expert_project, &T::expert_combine, &T::expert_row_gradients, &T::expert_dx, &T::expert_dprobs,
      &T::expert_dw, &T::adamw_step, &T::stochastic_adamw_step, &T::stochastic_copy, &T::quantize_blocks,
      &T::dequantize_blocks, &T::sum_of_squares, &T::short_convolution, &T::short_convolution_dx,
      &T::short_convolution_dw, &T::delta_gates, &T::delta_gates_backward, &T::delta_rule,
      &T::delta_rule_backward, &T::copy_pieces>();
}

}  // namespace d9d::kernels
