#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/zeros.h>

#include "kernels/cpu/dispatch.hpp"
#include "kernels/cpu/expert_order.hpp"
#include "kernels/cpu/matmul.hpp"
#include "kernels/cpu/ops.hpp"

namespace d9d::kernels::cpu {
namespace {

ExpertRows expert_rows(const at::Tensor& experts, const at::Tensor& probs, int64_t num_experts) {
  const ExpertOrder order = expert_order(experts, num_experts);
  const int64_t count = order.num_rows, top_k = experts.size(1);
  ExpertRows rows{order.offsets, order.map, at::empty({count}, order.map.options()),
                  at::empty({count}, probs.options())};
  const at::Tensor weights = probs.contiguous();
  for (int64_t i = 0; i < order.map.numel(); ++i) {
    const int64_t row = data_of<int64_t>(order.map)[i];
    if (row < 0) continue;
    data_of<int64_t>(rows.token)[row] = i / top_k;
    data_of<float>(rows.scale)[row] = data_of<float>(weights)[i];
  }
  return rows;
}

// Calls f(expert, first row, number of rows) for every expert that has rows.
template <class F>
void for_experts(const ExpertRows& rows, F&& f) {
  const auto* offset = data_of<int64_t>(rows.offsets);
  for (int64_t e = 0; e < rows.offsets.size(0) - 1; ++e) {
    if (offset[e + 1] > offset[e]) f(e, offset[e], offset[e + 1] - offset[e]);
  }
}

int64_t most_rows(const ExpertRows& rows) {
  int64_t most = 0;
  for_experts(rows, [&](int64_t, int64_t, int64_t count) { most = std::max(most, count); });
  return most;
}

GemmInput gathered(const at::Tensor& x, const ExpertRows& rows, int64_t first) {
  return gemm_input(x, data_of<int64_t>(rows.token) + first);
}

// Writes to the rows of a contiguous matrix from `first` on.
GemmOutput rows_from(const at::Tensor& matrix, int64_t first, bool add = false) {
  const int64_t width = matrix.size(1);
  return {static_cast<char*>(matrix.data_ptr()) + first * width * matrix.element_size(), width, add,
          matrix.scalar_type() == at::kBFloat16};
}
// Adds to the rows of the tokens in y, fp32.
GemmOutput scattered(const at::Tensor& y, const ExpertRows& rows, int64_t first, const float* scale) {
  return {y.data_ptr(), y.size(1), true, false, data_of<int64_t>(rows.token) + first, scale};
}

// Reads the factor's rows from `first` on.
GemmInput factor_from(const ExpertFactor& factor, const ExpertRows& rows, int64_t first) {
  if (factor.by_token) return gathered(factor.matrix, rows, first);
  return gemm_input(factor.matrix.narrow(0, first, factor.matrix.size(0) - first));
}

// Returns the gate or up activations of all rows, [R, I].
at::Tensor expert_project(const ExpertFactor& x, const at::Tensor& weight, const ExpertRows& rows) {
  at::Tensor out = at::empty({rows.token.size(0), weight.size(1)}, x.matrix.options());
  for_experts(rows, [&](int64_t e, int64_t first, int64_t count) {
    const at::Tensor matrix = weight[e];
    gemm(count, matrix.size(0), matrix.size(1), factor_from(x, rows, first), transposed(gemm_input(matrix)),
         rows_from(out, first));
  });
  return out;
}

at::Tensor expert_combine(const at::Tensor& gate, const at::Tensor& up, const at::Tensor& down,
                          const ExpertRows& rows, int64_t tokens) {
  const auto options = gate.options();
  const int64_t width = gate.size(1);
  at::Tensor y = at::zeros({tokens, down.size(1)}, options.dtype(at::kFloat));
  const at::Tensor hidden = at::empty({most_rows(rows), width}, options);
  for_experts(rows, [&](int64_t e, int64_t first, int64_t count) {
    dispatch(gate.scalar_type(), [&](auto tag) {
      using T = decltype(tag);
      for_rows(count, width, [&](int64_t begin, int64_t end) {
        loop_table<T>().silu_mul(end - begin, width, rows_of<T>(gate, first + begin),
                                 rows_of<T>(up, first + begin), mutable_rows_of<T>(hidden, begin));
      });
    });
    gemm(count, down.size(1), width, gemm_input(hidden), transposed(gemm_input(down[e])),
         scattered(y, rows, first, data_of<float>(rows.scale) + first));
  });
  return y.to(gate.scalar_type());
}

ExpertRowGradients expert_row_gradients(const ExpertFactor& dy, const at::Tensor& gate, const at::Tensor& up,
                                        const at::Tensor& down, const ExpertRows& rows) {
  const int64_t width = gate.size(1);
  ExpertRowGradients result{at::empty_like(gate), at::empty_like(gate), at::empty_like(gate),
                            at::empty_like(rows.scale)};
  const at::Tensor dhidden = at::empty({most_rows(rows), width}, rows.scale.options());
  for_experts(rows, [&](int64_t e, int64_t first, int64_t count) {
    gemm(count, width, dy.matrix.size(1), factor_from(dy, rows, first), gemm_input(down[e]),
         rows_from(dhidden, 0));
    dispatch(gate.scalar_type(), [&](auto tag) {
      using T = decltype(tag);
      for_rows(count, width, [&](int64_t begin, int64_t end) {
        const int64_t row = first + begin, at = row * width;
        loop_table<T>().silu_mul_weighted(
            end - begin, width, data_of<Sum<T>>(rows.scale) + row, data_of<Sum<T>>(dhidden) + begin * width,
            data_of<T>(gate) + at, data_of<T>(up) + at, data_of<T>(result.gate) + at,
            data_of<T>(result.up) + at, data_of<T>(result.hidden) + at, data_of<Sum<T>>(result.scale) + row);
      });
    });
  });
  return result;
}

at::Tensor expert_dx(const ExpertRowGradients& grads, const at::Tensor& gate, const at::Tensor& up,
                     const ExpertRows& rows, int64_t tokens) {
  const int64_t inner = gate.size(1), width = gate.size(2);
  at::Tensor dx = at::zeros({tokens, width}, rows.scale.options());
  for_experts(rows, [&](int64_t e, int64_t first, int64_t count) {
    const GemmOutput to = scattered(dx, rows, first, nullptr);
    gemm(count, width, inner, gemm_input(grads.gate.narrow(0, first, count)), gemm_input(gate[e]), to);
    gemm(count, width, inner, gemm_input(grads.up.narrow(0, first, count)), gemm_input(up[e]), to);
  });
  return dx.to(gate.scalar_type());
}

at::Tensor expert_dprobs(const at::Tensor& dscale, const ExpertRows& rows) {
  at::Tensor dprobs = at::zeros(rows.map.sizes(), dscale.options());
  for (int64_t i = 0; i < rows.map.numel(); ++i) {
    const int64_t row = data_of<int64_t>(rows.map)[i];
    if (row >= 0) data_of<float>(dprobs)[i] = data_of<float>(dscale)[row];
  }
  return dprobs;
}

void expert_dw(const at::Tensor& into, const ExpertFactor& left, const ExpertFactor& right,
               const ExpertRows& rows, double beta) {
  // Sums bfloat16 gradients in fp32 and rounds once.
  const bool in_place = into.scalar_type() == at::kFloat && into.is_contiguous();
  const at::Tensor sums = in_place    ? into
                          : beta == 0 ? at::empty(into.sizes(), into.options().dtype(at::kFloat))
                                      : into.to(at::kFloat).contiguous();
  const auto* offset = data_of<int64_t>(rows.offsets);
  const int64_t height = into.size(1), width = into.size(2);
  for (int64_t e = 0; e < into.size(0); ++e) {
    const int64_t count = offset[e + 1] - offset[e];
    if (count == 0) {
      if (beta == 0) sums[e].zero_();
      continue;
    }
    gemm(height, width, count, transposed(factor_from(left, rows, offset[e])),
         factor_from(right, rows, offset[e]), {data_of<float>(sums) + e * height * width, width, beta == 1});
  }
  if (!in_place) into.copy_(sums);
}

}  // namespace

void add_experts(OpTable& table) {
  table.expert_rows = expert_rows;
  table.expert_project = expert_project;
  table.expert_combine = expert_combine;
  table.expert_row_gradients = expert_row_gradients;
  table.expert_dx = expert_dx;
  table.expert_dprobs = expert_dprobs;
  table.expert_dw = expert_dw;
}

}  // namespace d9d::kernels::cpu
