#pragma once
// Which arguments ops write to. They only read all others, so two streams may share these.

#include <cstdint>
#include <type_traits>

#include "kernels/ops/table.hpp"

namespace d9d::kernels {

// Returns a bit set of the arguments that an op may write to. The first argument is bit 0;
// results are not arguments.
template <auto op>
constexpr std::uint32_t written_arguments() {
  using T = OpTable;
  constexpr auto is = []<auto other>() {
    if constexpr (std::is_same_v<decltype(op), decltype(other)>) return op == other;
    return false;
  };
  constexpr auto at = [](auto... positions) { return ((std::uint32_t{1} << positions) | ...); };
  if (is.template operator()<&T::matmul>()) return at(0);
  if (is.template operator()<&T::add_scaled>()) return at(2);
  if (is.template operator()<&T::embedding_dw>()) return at(2);
  if (is.template operator()<&T::rope_backward>()) return at(0);
  if (is.template operator()<&T::merge_attention_block>()) return at(0);
  if (is.template operator()<&T::write_cache>()) return at(1);
  if (is.template operator()<&T::delta_rule_steps>()) return at(5);
  if (is.template operator()<&T::cross_entropy>()) return at(0, 3, 4);
  if (is.template operator()<&T::join_vocabulary>()) return at(1, 2);
  if (is.template operator()<&T::cross_entropy_of_part>()) return at(0, 4);
  if (is.template operator()<&T::cross_entropy_online>()) return at(0, 3);
  if (is.template operator()<&T::grouped_product>()) return at(0);
  if (is.template operator()<&T::grouped_dw>()) return at(0);
  if (is.template operator()<&T::expert_dw>()) return at(0);
  if (is.template operator()<&T::adamw_step>()) return at(0, 1, 2, 3);
  if (is.template operator()<&T::stochastic_adamw_step>()) return at(0, 1, 2, 3);
  if (is.template operator()<&T::stochastic_copy>()) return at(1);
  if (is.template operator()<&T::quantize_blocks>()) return at(3, 4);
  if (is.template operator()<&T::dequantize_blocks>()) return at(4);
  if (is.template operator()<&T::short_convolution_dw>()) return at(2);
  if (is.template operator()<&T::copy_pieces>()) return at(0);
  return 0;
}

}  // namespace d9d::kernels
