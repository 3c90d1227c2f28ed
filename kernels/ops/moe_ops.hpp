#pragma once
// The ops of routing and of rows in expert order (moe.hpp) that each device implements. Their callers
// have checked shapes and dtypes.
// T tokens, E experts, k experts per token, R rows in expert order, H hidden size. An expert's rows are
// offsets[e] .. offsets[e + 1]. Scales and sums are in sum_dtype.

#include <ATen/core/Tensor.h>

#include "kernels/ops/op.hpp"
#include "kernels/router_rule.hpp"

namespace d9d::kernels {

struct Routing {
  at::Tensor scores;   // [T, E] in sum_dtype
  at::Tensor probs;    // [T, k] in sum_dtype
  at::Tensor experts;  // int64 [T, k]
};

// The choices sorted by expert, and within an expert by token.
struct ExpertOrder {
  at::Tensor offsets;     // int64 [E + 1]
  at::Tensor map;         // int64 [T, k]: the row of a choice, -1 if it is outside [0, E)
  int64_t num_rows = -1;  // R from the CPU; a device's host asks memory/chosen_rows.hpp
};

struct MoeOps {
  // See moe_router. logits [T, E]; bias [E] in sum_dtype or undefined.
  Op<Routing(const at::Tensor& logits, const at::Tensor& bias, const RouterRule& rule)> moe_router{
      "moe_router"};
  // d logits [T, E] in sum_dtype, from d probs [T, k] and the forward's scores and experts.
  Op<at::Tensor(const at::Tensor& dprobs, const at::Tensor& scores, const at::Tensor& experts,
                const RouterRule& rule)>
      moe_router_backward{"moe_router_backward"};

  Op<ExpertOrder(const at::Tensor& experts, int64_t num_experts)> expert_order{"expert_order"};
  // Owner o has the experts from o * per_owner on. The owner of each choice; -1 where an earlier choice of the token
  // has the same one.   experts [T, k], not negative -> int64 [T, k]
  Op<at::Tensor(const at::Tensor& experts, int64_t per_owner)> choice_owners{"choice_owners"};
  // rows[map[t, j]] = scale[t, j] * x[t].   x [T, H]; scale [T, k], undefined: 1 -> [num_rows, H]
  Op<at::Tensor(const at::Tensor& x, const at::Tensor& map, const at::Tensor& scale, int64_t num_rows)>
      spread_rows{"spread_rows"};
  // y[t] = sum over j of scale[t, j] * rows[map[t, j]].   rows [R, H]; scale [T, k], undefined: 1 -> [T, H]
  Op<at::Tensor(const at::Tensor& rows, const at::Tensor& map, const at::Tensor& scale)> combine_rows{
      "combine_rows"};
  // d[t, j] = y[t] . rows[map[t, j]], 0 if the map is -1.   y [T, H], rows [R, H] -> [T, k] in sum_dtype
  Op<at::Tensor(const at::Tensor& y, const at::Tensor& rows, const at::Tensor& map)> row_dots{"row_dots"};

  // out [R, N] = the rows of each expert in `in` [R, K] times weight[e]^T, weight [E, N, K]; or, if not
  // `transposed`, in [R, N] times weight[e] into out [R, K]. An error if the last offset is not R.
  Op<void(const at::Tensor& out, const at::Tensor& in, const at::Tensor& weight, const at::Tensor& offsets,
          bool transposed)>
      grouped_product{"grouped_product"};
  // into[e] = grad_e^T in_e + beta into[e].   grad [R, N], in [R, K], into [E, N, K]
  Op<void(const at::Tensor& into, const at::Tensor& grad, const at::Tensor& in, const at::Tensor& offsets,
          double beta)>
      grouped_dw{"grouped_dw"};
};

}  // namespace d9d::kernels
