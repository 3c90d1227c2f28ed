#include "kernels/cpu/ops.hpp"

namespace d9d::kernels::cpu {
namespace {

OpTable make_table() {
  OpTable table;
  for (const auto add : {add_activation,
                         add_attention,
                         add_block_quantization,
                         add_copy_pieces,
                         add_cross_entropy,
                         add_delta_gates,
                         add_delta_rule,
                         add_embedding,
                         add_experts,
                         add_grouped_linear,
                         add_matmul,
                         add_attention_block,
                         add_norm,
                         add_optimizer,
                         add_permute,
                         add_rope,
                         add_router,
                         add_short_convolution,
                         add_stochastic_adamw,
                         add_token_cache}) {
    add(table);
  }
  table.place = Place::cpu;
  return table;
}

}  // namespace

const OpTable& op_table() {
  static const OpTable table = make_table();
  return table;
}

}  // namespace d9d::kernels::cpu
