#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/zeros.h>

#include "kernels/activation.hpp"
#include "kernels/dispatch.hpp"
#include "kernels/gemm.hpp"
#include "kernels/moe.hpp"
#include "kernels/moe_rows.hpp"
#include "kernels/node.hpp"

namespace d9d::kernels {
namespace {

// The rows of the experts without the rows themselves: products gather from x and scatter into y.
struct ExpertRows {
  at::Tensor offsets;  // int64 [E + 1]
  at::Tensor map;      // int64 [T, k]
  at::Tensor token;    // int64 [R]: the row's token
  at::Tensor scale;    // fp32 [R]: its weight

  int64_t count() const { return token.size(0); }
  int64_t experts() const { return offsets.size(0) - 1; }
};

ExpertRows rows_by_expert(const at::Tensor& experts, const at::Tensor& probs, int64_t num_experts) {
  const ExpertOrder order = expert_order(experts, num_experts);
  const int64_t count = data_of<int64_t>(order.offsets)[num_experts], top_k = experts.size(1);
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

// f(expert, first row, rows) for every expert that has rows.
template <class F>
void for_experts(const ExpertRows& rows, F&& f) {
  const auto* offset = data_of<int64_t>(rows.offsets);
  for (int64_t e = 0; e < rows.experts(); ++e) {
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

// Into rows `first` .. of a contiguous matrix.
GemmOutput rows_from(const at::Tensor& matrix, int64_t first, bool add = false) {
  const int64_t width = matrix.size(1);
  return {static_cast<char*>(matrix.data_ptr()) + first * width * matrix.element_size(), width, add,
          matrix.scalar_type() == at::kBFloat16};
}
// Added to the rows of the tokens, fp32.
GemmOutput scattered(const at::Tensor& y, const ExpertRows& rows, int64_t first, const float* scale) {
  return {y.data_ptr(), y.size(1), true, false, data_of<int64_t>(rows.token) + first, scale};
}

// gate or up activations of all rows, [R, I].
at::Tensor project(const at::Tensor& x, const at::Tensor& weight, const ExpertRows& rows) {
  // A product longer than gemm_depth must not round its parts.
  const bool wide = x.scalar_type() == at::kBFloat16 && x.size(1) > gemm_depth;
  at::Tensor out =
      at::empty({rows.count(), weight.size(1)}, x.options().dtype(wide ? at::kFloat : x.scalar_type()));
  for_experts(rows, [&](int64_t e, int64_t first, int64_t count) {
    const at::Tensor matrix = weight[e];
    gemm(count, matrix.size(0), matrix.size(1), gathered(x, rows, first), transposed(gemm_input(matrix)),
         rows_from(out, first));
  });
  return out.to(x.scalar_type());
}

at::Tensor combine(const at::Tensor& gate, const at::Tensor& up, const at::Tensor& down,
                   const ExpertRows& rows, int64_t tokens) {
  const auto options = gate.options();
  const int64_t width = gate.size(1);
  at::Tensor y = at::zeros({tokens, down.size(1)}, options.dtype(at::kFloat));
  const at::Tensor hidden = at::empty({most_rows(rows), width}, options);
  for_experts(rows, [&](int64_t e, int64_t first, int64_t count) {
    dispatch(gate.scalar_type(), [&](auto tag) {
      using T = decltype(tag);
      for_rows(count, width, [&](int64_t begin, int64_t end) {
        kernel_table<T>().silu_mul(end - begin, width, rows_of<T>(gate, first + begin),
                                   rows_of<T>(up, first + begin), mutable_rows_of<T>(hidden, begin));
      });
    });
    gemm(count, down.size(1), width, gemm_input(hidden), transposed(gemm_input(down[e])),
         scattered(y, rows, first, data_of<float>(rows.scale) + first));
  });
  return y.to(gate.scalar_type());
}

struct RowGradients {
  at::Tensor gate, up, weighted;  // [R, I]: d gate, d up, and the hidden rows times their weight
  at::Tensor scale;               // [R]
};

RowGradients gradients_of_rows(const at::Tensor& dy, const at::Tensor& gate, const at::Tensor& up,
                               const at::Tensor& down, const ExpertRows& rows) {
  const int64_t width = gate.size(1);
  RowGradients result{at::empty_like(gate), at::empty_like(gate), at::empty_like(gate),
                      at::empty_like(rows.scale)};
  const at::Tensor dhidden = at::empty({most_rows(rows), width}, rows.scale.options());
  for_experts(rows, [&](int64_t e, int64_t first, int64_t count) {
    gemm(count, width, dy.size(1), gathered(dy, rows, first), gemm_input(down[e]), rows_from(dhidden, 0));
    dispatch(gate.scalar_type(), [&](auto tag) {
      using T = decltype(tag);
      for_rows(count, width, [&](int64_t begin, int64_t end) {
        const int64_t row = first + begin, at = row * width;
        kernel_table<T>().silu_mul_weighted(end - begin, width, data_of<Sum<T>>(rows.scale) + row,
                                            data_of<Sum<T>>(dhidden) + begin * width, data_of<T>(gate) + at,
                                            data_of<T>(up) + at, data_of<T>(result.gate) + at,
                                            data_of<T>(result.up) + at, data_of<T>(result.weighted) + at,
                                            data_of<Sum<T>>(result.scale) + row);
      });
    });
  });
  return result;
}

at::Tensor gradient_of_x(const RowGradients& grads, const at::Tensor& x, const at::Tensor& gate,
                         const at::Tensor& up, const ExpertRows& rows) {
  at::Tensor dx = at::zeros(x.sizes(), rows.scale.options());
  for_experts(rows, [&](int64_t e, int64_t first, int64_t count) {
    const GemmOutput to = scattered(dx, rows, first, nullptr);
    gemm(count, x.size(1), gate.size(1), gemm_input(grads.gate.narrow(0, first, count)), gemm_input(gate[e]),
         to);
    gemm(count, x.size(1), up.size(1), gemm_input(grads.up.narrow(0, first, count)), gemm_input(up[e]), to);
  });
  return dx.to(x.scalar_type());
}

// d probs [T, k] from d scale [R].
at::Tensor gradient_of_probs(const at::Tensor& dscale, const ExpertRows& rows) {
  at::Tensor dprobs = at::zeros(rows.map.sizes(), dscale.options());
  for (int64_t i = 0; i < rows.map.numel(); ++i) {
    const int64_t row = data_of<int64_t>(rows.map)[i];
    if (row >= 0) data_of<float>(dprobs)[i] = data_of<float>(dscale)[row];
  }
  return dprobs;
}

// Inputs: x, probs, gate, up, down. Saved: x, gate, up, down, gate and up activations.
class MoeExpertsNode : public BackwardNode {
 public:
  std::string name() const override { return "d9d::moe_experts"; }
  ExpertRows rows;

 protected:
  Gradients backward(Gradients grads) override {
    Gradients result(5);
    if (!grads[0].defined()) return result;
    const at::Tensor x = as_rows(saved(0)), gate = saved(1), up = saved(2), down = saved(3);
    const at::Tensor dy = as_rows(grads[0]);
    const RowGradients back = gradients_of_rows(dy, saved(4), saved(5), down, rows);
    if (wants(0)) result[0] = gradient_of_x(back, x, gate, up, rows);
    if (wants(1)) result[1] = gradient_of_probs(back.scale, rows);
    const auto in = [x, rows = rows](int64_t first) { return gathered(x, rows, first); };
    const auto rows_of_grad = [rows = rows](const at::Tensor& grad) {
      return [grad](int64_t first) { return gemm_input(grad.narrow(0, first, grad.size(0) - first)); };
    };
    result[2] = gradient_of_weight(2, gate, rows_of_grad(back.gate), in);
    result[3] = gradient_of_weight(3, up, rows_of_grad(back.up), in);
    result[4] = gradient_of_weight(
        4, down, [dy, rows = rows](int64_t first) { return gathered(dy, rows, first); },
        rows_of_grad(back.weighted));
    return result;
  }

 private:
  // weight[e] has the gradient left_e^T right_e; both give the matrix that starts at a row.
  template <class Left, class Right>
  at::Tensor gradient_of_weight(std::size_t input, const at::Tensor& weight, const Left& left,
                                const Right& right) {
    return weight_gradient(input, weight, [=, rows = rows](const at::Tensor& into, double beta) {
      // bfloat16 gradients are summed in fp32 and rounded once.
      const bool in_place = into.scalar_type() == at::kFloat && into.is_contiguous();
      const at::Tensor sums = in_place    ? into
                              : beta == 0 ? at::empty(into.sizes(), into.options().dtype(at::kFloat))
                                          : into.to(at::kFloat).contiguous();
      const auto* offset = data_of<int64_t>(rows.offsets);
      const int64_t height = into.size(1), width = into.size(2);
      for (int64_t e = 0; e < rows.experts(); ++e) {
        const int64_t count = offset[e + 1] - offset[e];
        if (count == 0) {
          if (beta == 0) sums[e].zero_();
          continue;
        }
        gemm(height, width, count, transposed(left(offset[e])), right(offset[e]),
             {data_of<float>(sums) + e * height * width, width, beta == 1});
      }
      if (!in_place) into.copy_(sums);
    });
  }
};

at::Tensor composed(const at::Tensor& x, const at::Tensor& probs, const at::Tensor& experts,
                    const at::Tensor& gate, const at::Tensor& up, const at::Tensor& down) {
  const auto [rows, offsets, map] = moe_permute(x, experts, gate.size(0));
  const at::Tensor hidden = silu_mul(grouped_linear(rows, gate, offsets), grouped_linear(rows, up, offsets));
  return moe_unpermute(grouped_linear(hidden, down, offsets), probs, map);
}

bool is_stack(const at::Tensor& weight, int64_t experts, int64_t out, int64_t in) {
  return weight.sizes() == at::IntArrayRef({experts, out, in}) && weight.is_contiguous();
}

}  // namespace

at::Tensor moe_experts(const at::Tensor& x, const at::Tensor& probs, const at::Tensor& experts,
                       const at::Tensor& gate, const at::Tensor& up, const at::Tensor& down) {
  if (x.scalar_type() == at::kDouble) return composed(x, probs, experts, gate, up, down);
  const int64_t count = gate.size(0), inner = gate.size(1), width = x.size(-1);
  TORCH_CHECK(x.dim() == 2 && gate.dim() == 3 && is_stack(gate, count, inner, width) &&
                  is_stack(up, count, inner, width) && is_stack(down, count, width, inner),
              "moe_experts of x ", x.sizes(), " with gate ", gate.sizes(), ", up ", up.sizes(), ", down ",
              down.sizes(), ": expected [T, H] and contiguous [E, I, H], [E, I, H], [E, H, I]");
  TORCH_CHECK(experts.dim() == 2 && experts.size(0) == x.size(0) && probs.sizes() == experts.sizes() &&
                  probs.scalar_type() == at::kFloat,
              "moe_experts of ", x.size(0), " tokens with experts ", experts.sizes(), " and probs ",
              probs.sizes(), " ", probs.scalar_type(), ": expected [T, k] each, probs float32");
  const auto node = node_for<MoeExpertsNode>({x, probs, gate, up, down});
  BelowAutograd below;
  const ExpertRows rows = rows_by_expert(experts, probs, count);
  const at::Tensor tokens = as_rows(x.detach());
  const at::Tensor gated = project(tokens, gate, rows), above = project(tokens, up, rows);
  const at::Tensor y = combine(gated, above, down, rows, x.size(0));
  if (node) {
    node->rows = rows;
    node->save({x, gate, up, down, gated, above});
    torch::autograd::set_history(y, node);
  }
  return y;
}

}  // namespace d9d::kernels
