#pragma once
// The ops of moe_experts (moe.hpp) that each device implements. fp32 and bf16, weights contiguous. Their
// callers have checked shapes and dtypes.
// T tokens, E experts, k experts per token, R rows in expert order, H hidden size, I intermediate size.
// An expert's rows are offsets[e] .. offsets[e + 1].

#include <ATen/core/Tensor.h>

#include <memory>

#include "kernels/ops/op.hpp"

namespace d9d::kernels {

// The rows of the experts by their tokens: products gather from x [T, H] and scatter into y [T, H].
struct ExpertRows {
  at::Tensor offsets;  // int64 [E + 1]
  at::Tensor map;      // int64 [T, k]
  at::Tensor token;    // int64 [R]: the token of a row
  at::Tensor scale;    // fp32 [R]: its routing probability
};

// The gradients of the experts' rows.
struct ExpertRowGradients {
  at::Tensor gate, up;  // [R, I]: of the gate and up activations
  at::Tensor hidden;    // [R, I]: scale * silu(gate) * up, the left factor of d down
  at::Tensor scale;     // fp32 [R]
};

// One factor of an expert's product: a matrix with one row per row of the experts, or one row per
// token, from which the rows of the experts are gathered.
struct ExpertFactor {
  at::Tensor matrix;  // [R, N], or [T, N]
  bool by_token = false;
  // A device that gathers rows before it multiplies them leaves them here for the next op that takes the same factor.
  // Null: there is none.
  std::shared_ptr<at::Tensor> gathered = nullptr;
};
// For several ops.
inline ExpertFactor shared_factor(const at::Tensor& by_token) {
  return {by_token, true, std::make_shared<at::Tensor>()};
}

struct ExpertOps {
  // experts int64 [T, k], probs fp32 [T, k].
  Op<ExpertRows(const at::Tensor& experts, const at::Tensor& probs, int64_t num_experts)> expert_rows{
      "expert_rows"};
  // Multiplies x, [T, H] by token, by weight [E, I, H] -> [R, I].
  Op<at::Tensor(const ExpertFactor& x, const at::Tensor& weight, const ExpertRows& rows)> expert_project{
      "expert_project"};
  // gate, up [R, I], down [E, H, I] -> y [tokens, H], summed in fp32.
  Op<at::Tensor(const at::Tensor& gate, const at::Tensor& up, const at::Tensor& down, const ExpertRows& rows,
                int64_t tokens)>
      expert_combine{"expert_combine"};
  // dy [T, H] by token; the other arguments are those of expert_combine.
  Op<ExpertRowGradients(const ExpertFactor& dy, const at::Tensor& gate, const at::Tensor& up,
                        const at::Tensor& down, const ExpertRows& rows)>
      expert_row_gradients{"expert_row_gradients"};
  // gate, up [E, I, H] -> dx [tokens, H].
  Op<at::Tensor(const ExpertRowGradients& grads, const at::Tensor& gate, const at::Tensor& up,
                const ExpertRows& rows, int64_t tokens)>
      expert_dx{"expert_dx"};
  // Computes d probs [T, k] from d scale [R].
  Op<at::Tensor(const at::Tensor& dscale, const ExpertRows& rows)> expert_dprobs{"expert_dprobs"};
  // into[e] [N, M] = left_e^T right_e + beta into[e], summed in fp32.
  Op<void(const at::Tensor& into, const ExpertFactor& left, const ExpertFactor& right, const ExpertRows& rows,
          double beta)>
      expert_dw{"expert_dw"};
};

}  // namespace d9d::kernels
