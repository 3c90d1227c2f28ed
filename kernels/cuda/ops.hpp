#pragma once
// The op table of CUDA devices.

#include "kernels/ops/table.hpp"

namespace d9d::cuda {

// The ops of README.md, for fp32 and bf16 (matmul for fp64, too). Kernels are enqueued on
// the stream that is current on the tensors' device.
const kernels::OpTable& op_table();

// Each puts the ops of its file into the table.
void add_activation(kernels::OpTable& table);
void add_attention(kernels::OpTable& table);
void add_block_quantization(kernels::OpTable& table);
void add_copy_pieces(kernels::OpTable& table);
void add_cross_entropy(kernels::OpTable& table);
void add_delta_gates(kernels::OpTable& table);
void add_delta_rule(kernels::OpTable& table);
void add_embedding(kernels::OpTable& table);
void add_experts(kernels::OpTable& table);
void add_grouped_linear(kernels::OpTable& table);
void add_matmul(kernels::OpTable& table);
void add_norm(kernels::OpTable& table);
void add_optimizer(kernels::OpTable& table);
void add_permute(kernels::OpTable& table);
void add_rope(kernels::OpTable& table);
void add_router(kernels::OpTable& table);
void add_short_convolution(kernels::OpTable& table);
void add_stochastic_adamw(kernels::OpTable& table);
void add_token_cache(kernels::OpTable& table);

}  // namespace d9d::cuda
