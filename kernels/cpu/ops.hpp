#pragma once
// The op table of the CPU. Internal to kernels/.

#include "kernels/ops/table.hpp"

namespace d9d::kernels::cpu {

// Returns the table with all ops. It is built at the first call.
const OpTable& op_table();

// Each adds the ops of its file to the table.
void add_activation(OpTable& table);
void add_attention(OpTable& table);
void add_block_quantization(OpTable& table);
void add_copy_pieces(OpTable& table);
void add_cross_entropy(OpTable& table);
void add_delta_gates(OpTable& table);
void add_delta_rule(OpTable& table);
void add_embedding(OpTable& table);
void add_experts(OpTable& table);
void add_grouped_linear(OpTable& table);
void add_matmul(OpTable& table);
void add_attention_block(OpTable& table);
void add_norm(OpTable& table);
void add_optimizer(OpTable& table);
void add_permute(OpTable& table);
void add_rope(OpTable& table);
void add_router(OpTable& table);
void add_short_convolution(OpTable& table);
void add_stochastic_adamw(OpTable& table);
void add_token_cache(OpTable& table);

}  // namespace d9d::kernels::cpu
