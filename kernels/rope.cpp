#include "kernels/rope.hpp"

#include <ATen/ops/empty.h>

#include "kernels/dispatch.hpp"
#include "kernels/node.hpp"
#include "kernels/reduce.hpp"

namespace d9d::kernels {
namespace {

// Angles of every token, [tokens, R] with R dense; a table [S, R] is repeated by index, not in memory.
struct Angles {
  at::Tensor cos, sin;  // [tokens or S, R]
};

struct Settings {
  RopeStyle style;
  double eps;
};

template <class T>
HeadsShape<T> shape_of(const at::Tensor& heads, const at::Tensor& weight, const at::Tensor& cos,
                       Settings settings) {
  return {heads.size(2),
          heads.size(3),
          cos.size(-1),
          settings.style == RopeStyle::interleaved,
          weight.defined() ? static_cast<const T*>(weight.const_data_ptr()) : nullptr,
          static_cast<Sum<T>>(settings.eps)};
}

// [B, S, H, D] with dense heads and evenly spaced tokens.
at::Tensor dense_heads(const at::Tensor& x) {
  const bool dense = x.stride(3) == 1 && (x.size(2) == 1 || x.stride(2) == x.size(3)) &&
                     (x.size(0) == 1 || x.stride(0) == x.size(1) * x.stride(1));
  return dense ? x : x.contiguous();
}

// f(begin, end, angle_row) over runs of tokens whose angles lie in consecutive rows of the table.
template <class F>
void for_tokens(const at::Tensor& x, const at::Tensor& cos, int64_t begin, int64_t end, F&& f) {
  const int64_t length = x.size(1);
  const bool repeated = cos.dim() == 2;
  while (begin < end) {
    const int64_t stop = repeated ? std::min(end, (begin / length + 1) * length) : end;
    f(begin, stop, repeated ? begin % length : begin);
    begin = stop;
  }
}

template <class T>
struct Pointers {
  Rows<const T> x;
  Rows<const Sum<T>> cos, sin;
};

template <class T>
Pointers<T> pointers_at(const at::Tensor& x, const at::Tensor& cos, const at::Tensor& sin, int64_t token,
                        int64_t angle) {
  const int64_t rotary = cos.size(-1);
  return {{static_cast<const T*>(x.const_data_ptr()) + token * x.stride(1), x.stride(1)},
          {static_cast<const Sum<T>*>(cos.const_data_ptr()) + angle * rotary, rotary},
          {static_cast<const Sum<T>*>(sin.const_data_ptr()) + angle * rotary, rotary}};
}

// -> rotated [B, S, H, D] and, with a weight, 1/rms [B, S, H].
std::pair<at::Tensor, at::Tensor> forward_of(const at::Tensor& input, const at::Tensor& weight,
                                             const Angles& angles, Settings settings) {
  const at::Tensor x = dense_heads(input);
  const auto options = x.options().requires_grad(false);
  at::Tensor y = at::empty(x.sizes(), options), inverse;
  if (weight.defined()) {
    inverse = at::empty({x.size(0), x.size(1), x.size(2)}, options.dtype(sum_dtype(x.scalar_type())));
  }
  dispatch(x.scalar_type(), [&](auto tag) {
    using T = decltype(tag);
    const auto shape = shape_of<T>(x, weight, angles.cos, settings);
    for_rows(x.size(0) * x.size(1), shape.heads * shape.dim, [&](int64_t first, int64_t last) {
      for_tokens(x, angles.cos, first, last, [&](int64_t begin, int64_t end, int64_t angle) {
        const auto at = pointers_at<T>(x, angles.cos, angles.sin, begin, angle);
        Sum<T>* kept = data_of<Sum<T>>(inverse);
        kernel_table<T>().heads(end - begin, shape, at.x, at.cos, at.sin,
                                data_of<T>(y) + begin * shape.heads * shape.dim,
                                kept ? kept + begin * shape.heads : nullptr);
      });
    });
  });
  return {y, inverse};
}

struct Backward {
  at::Tensor dx, dweight;
};

// dweight is defined when there is a weight; it costs little beside dx.
Backward backward_of(const at::Tensor& grad, const at::Tensor& input, const at::Tensor& weight,
                     const at::Tensor& inverse, const Angles& angles, Settings settings) {
  const at::Tensor dy = dense_heads(grad), x = dense_heads(input);
  Backward result{at::empty(x.sizes(), x.options().requires_grad(false)), {}};
  dispatch(x.scalar_type(), [&](auto tag) {
    using T = decltype(tag);
    using S = Sum<T>;
    const auto shape = shape_of<T>(x, weight, angles.cos, settings);
    const auto options = x.options().dtype(sum_dtype(x.scalar_type())).requires_grad(false);
    const int64_t width = shape.heads * shape.dim;
    const auto run = [&](int64_t first, int64_t last, S* dw) {
      for_tokens(x, angles.cos, first, last, [&](int64_t begin, int64_t end, int64_t angle) {
        const auto at = pointers_at<T>(x, angles.cos, angles.sin, begin, angle);
        const auto at_dy = pointers_at<T>(dy, angles.cos, angles.sin, begin, angle);
        const S* kept = inverse.defined() ? static_cast<const S*>(inverse.const_data_ptr()) : nullptr;
        kernel_table<T>().heads_backward(end - begin, shape, at_dy.x, at.x, at.cos, at.sin,
                                         kept ? kept + begin * shape.heads : nullptr,
                                         data_of<T>(result.dx) + begin * width, dw);
      });
    };
    const int64_t tokens = x.size(0) * x.size(1);
    if (weight.defined()) {
      result.dweight = reduce_rows<S>(tokens, shape.dim, options, run);
    } else {
      for_rows(tokens, width, [&](int64_t begin, int64_t end) { run(begin, end, static_cast<S*>(nullptr)); });
    }
  });
  return result;
}

// Inputs: q, k, q_weight, k_weight (undefined for plain rope). Saved: q, k (only with weights), the weights,
// 1/rms.
class RopeNode : public BackwardNode {
 public:
  std::string name() const override { return "d9d::rope"; }
  Settings settings{};
  Angles angles;
  bool normed = false;

 protected:
  Gradients backward(Gradients grads) override {
    Gradients result(4);
    for (std::size_t i = 0; i < 2; ++i) {
      if (!grads[i].defined() || !(wants(i) || (normed && wants(i + 2)))) continue;
      const at::Tensor x = normed ? saved(i) : grads[i];
      const at::Tensor weight = normed ? saved(i + 2) : at::Tensor();
      const auto back =
          backward_of(grads[i], x, weight, normed ? saved(i + 4) : at::Tensor(), angles, settings);
      result[i] = back.dx;
      if (!normed) continue;
      result[i + 2] =
          weight_gradient(i + 2, weight, [dw = back.dweight](const at::Tensor& into, double beta) {
            beta == 0 ? into.copy_(dw) : into.add_(dw);
          });
    }
    return result;
  }
};

void check(const at::Tensor& q, const at::Tensor& k, const Angles& angles) {
  TORCH_CHECK(q.dim() == 4 && k.dim() == 4 && q.size(0) == k.size(0) && q.size(1) == k.size(1) &&
                  q.size(3) == k.size(3),
              "rope of q ", q.sizes(), " and k ", k.sizes(), ": expected [B, S, Hq, D] and [B, S, Hkv, D]");
  const auto& cos = angles.cos;
  const bool table = cos.dim() == 2 && cos.size(0) == q.size(1);
  const bool per_token = cos.dim() == 3 && cos.size(0) == q.size(0) && cos.size(1) == q.size(1);
  TORCH_CHECK((table || per_token) && cos.sizes() == angles.sin.sizes() && cos.size(-1) <= q.size(3) &&
                  cos.size(-1) % 2 == 0 && q.size(3) <= 1024,
              "rope of q ", q.sizes(), " with cos ", cos.sizes(), " and sin ", angles.sin.sizes(),
              ": expected both [S, R] or [B, S, R] with R even and at most D, and D at most 1024");
}

std::tuple<at::Tensor, at::Tensor> run(const at::Tensor& q, const at::Tensor& k, const at::Tensor& q_weight,
                                       const at::Tensor& k_weight, Angles angles, Settings settings) {
  check(q, k, angles);
  const auto node = node_for<RopeNode>({q, k, q_weight, k_weight});
  std::pair<at::Tensor, at::Tensor> rotated_q, rotated_k;
  {
    BelowAutograd below;
    const auto dtype = sum_dtype(q.scalar_type());
    angles = {angles.cos.to(dtype).contiguous(), angles.sin.to(dtype).contiguous()};
    rotated_q = forward_of(q, q_weight.defined() ? q_weight.contiguous() : q_weight, angles, settings);
    rotated_k = forward_of(k, k_weight.defined() ? k_weight.contiguous() : k_weight, angles, settings);
  }
  if (node) {
    node->settings = settings;
    node->angles = angles;
    node->normed = q_weight.defined();
    if (node->normed) node->save({q, k, q_weight, k_weight, rotated_q.second, rotated_k.second});
    torch::autograd::set_history(rotated_q.first, node);
    torch::autograd::set_history(rotated_k.first, node);
  }
  return {rotated_q.first, rotated_k.first};
}

}  // namespace

std::tuple<at::Tensor, at::Tensor> rope(const at::Tensor& q, const at::Tensor& k, const at::Tensor& cos,
                                        const at::Tensor& sin, RopeStyle style) {
  return run(q, k, {}, {}, {cos, sin}, {style, 0});
}

std::tuple<at::Tensor, at::Tensor> qk_norm_rope(const at::Tensor& q, const at::Tensor& k,
                                                const at::Tensor& q_weight, const at::Tensor& k_weight,
                                                double eps, const at::Tensor& cos, const at::Tensor& sin,
                                                RopeStyle style) {
  TORCH_CHECK(q_weight.dim() == 1 && q_weight.size(0) == q.size(-1) && k_weight.sizes() == q_weight.sizes(),
              "qk_norm_rope of q ", q.sizes(), " with weights ", q_weight.sizes(), " and ", k_weight.sizes(),
              ": expected [D] each");
  return run(q, k, q_weight, k_weight, {cos, sin}, {style, eps});
}

}  // namespace d9d::kernels
