#include "kernels/attention.hpp"

#include <ATen/ops/_scaled_dot_product_flash_attention_for_cpu.h>
#include <ATen/ops/_scaled_dot_product_flash_attention_for_cpu_backward.h>
#include <ATen/ops/empty.h>

#include "kernels/cpu/attention.hpp"
#include "kernels/cpu/isa.hpp"
#include "kernels/dispatch.hpp"
#include "kernels/gemm.hpp"
#include "kernels/node.hpp"

namespace d9d::kernels {
namespace {

// [B, S, Hkv, D] -> [B, Hq, S, D]
at::Tensor to_query_heads(const at::Tensor& x, int64_t query_heads) {
  const int64_t group = query_heads / x.size(2);
  if (group == 1) return x.transpose(1, 2);
  return x.unsqueeze(3)
      .expand({x.size(0), x.size(1), x.size(2), group, x.size(3)})
      .reshape({x.size(0), x.size(1), query_heads, x.size(3)})
      .transpose(1, 2);
}

// [B, Hq, S, D] -> [B, S, Hkv, D], summed over each group
at::Tensor to_key_heads(const at::Tensor& grad, int64_t key_heads) {
  const at::Tensor by_token = grad.transpose(1, 2);
  const int64_t group = by_token.size(2) / key_heads;
  if (group == 1) return by_token;
  return by_token.reshape({by_token.size(0), by_token.size(1), key_heads, group, by_token.size(3)}).sum(3);
}

bool blocked_is_possible(const at::Tensor& q) {
  return isa_of_this_machine() == Isa::avx512 && q.scalar_type() != at::kDouble && q.size(3) <= gemm_depth;
}

at::Tensor with_dense_dim(const at::Tensor& x) {
  return x.stride(3) == 1 ? x : x.contiguous();
}

// Head `head` of sequence `batch` of x [B, S, H, D].
GemmInput head_of(const at::Tensor& x, int64_t batch, int64_t head) {
  const int64_t offset = batch * x.stride(0) + head * x.stride(2);
  return {static_cast<const char*>(x.const_data_ptr()) + offset * x.element_size(), x.stride(1), false,
          x.scalar_type() == at::kBFloat16};
}
GemmOutput output_head_of(const at::Tensor& x, int64_t batch, int64_t head) {
  const int64_t offset = batch * x.stride(0) + head * x.stride(2);
  return {static_cast<char*>(x.data_ptr()) + offset * x.element_size(), x.stride(1), false,
          x.scalar_type() == at::kBFloat16};
}

// The query heads of key head `head`.
std::vector<GemmInput> group_of(const at::Tensor& x, int64_t batch, int64_t head, int64_t group) {
  std::vector<GemmInput> heads;
  for (int64_t g = 0; g < group; ++g) heads.push_back(head_of(x, batch, head * group + g));
  return heads;
}
std::vector<GemmOutput> output_group_of(const at::Tensor& x, int64_t batch, int64_t head, int64_t group) {
  std::vector<GemmOutput> heads;
  for (int64_t g = 0; g < group; ++g) heads.push_back(output_head_of(x, batch, head * group + g));
  return heads;
}
// lse [B, Hq, S]
std::vector<float*> lse_group_of(const at::Tensor& lse, int64_t batch, int64_t head, int64_t group) {
  std::vector<float*> rows;
  for (int64_t g = 0; g < group; ++g) {
    rows.push_back(data_of<float>(lse) + (batch * lse.size(1) + head * group + g) * lse.size(2));
  }
  return rows;
}

// f(batch, key head) in parallel.
template <class F>
void for_key_heads(const at::Tensor& k, F&& f) {
  const int64_t heads = k.size(2);
  at::parallel_for(0, k.size(0) * heads, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) f(i / heads, i % heads);
  });
}

struct Result {
  at::Tensor out, lse;
};

AttentionShape shape_of(const at::Tensor& q, const at::Tensor& k, bool causal, double scale) {
  return {q.size(1), q.size(3), q.size(2) / k.size(2), causal, static_cast<float>(scale)};
}

Result blocked_forward(const at::Tensor& queries, const at::Tensor& keys, const at::Tensor& values,
                       bool causal, double scale) {
  const at::Tensor q = with_dense_dim(queries), k = with_dense_dim(keys), v = with_dense_dim(values);
  const auto shape = shape_of(q, k, causal, scale);
  const auto options = q.options().requires_grad(false);
  Result result{at::empty(q.sizes(), options),
                at::empty({q.size(0), q.size(2), q.size(1)}, options.dtype(at::kFloat))};
  for_key_heads(k, [&](int64_t batch, int64_t head) {
    const auto group = group_of(q, batch, head, shape.group);
    attention_avx512(shape, {group.data(), head_of(k, batch, head), head_of(v, batch, head)},
                     output_group_of(result.out, batch, head, shape.group).data(),
                     lse_group_of(result.lse, batch, head, shape.group).data());
  });
  return result;
}

Gradients blocked_backward(const at::Tensor& grad, const at::Tensor& queries, const at::Tensor& keys,
                           const at::Tensor& values, const Result& forward, bool causal, double scale) {
  const at::Tensor q = with_dense_dim(queries), k = with_dense_dim(keys), v = with_dense_dim(values);
  const at::Tensor dout = with_dense_dim(grad);
  const auto shape = shape_of(q, k, causal, scale);
  const auto options = q.options().requires_grad(false);
  Gradients result{at::empty(q.sizes(), options), at::empty(k.sizes(), options),
                   at::empty(k.sizes(), options)};
  for_key_heads(k, [&](int64_t batch, int64_t head) {
    const auto q_group = group_of(q, batch, head, shape.group),
               dout_group = group_of(dout, batch, head, shape.group);
    const auto out_group = group_of(forward.out, batch, head, shape.group);
    const auto lse_group = lse_group_of(forward.lse, batch, head, shape.group);
    attention_backward_avx512(shape, {q_group.data(), head_of(k, batch, head), head_of(v, batch, head)},
                              {out_group.data(), dout_group.data(), lse_group.data()},
                              output_group_of(result[0], batch, head, shape.group).data(),
                              output_head_of(result[1], batch, head), output_head_of(result[2], batch, head));
  });
  return result;
}

Result torch_forward(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, bool causal,
                     double scale) {
  auto [out, lse] = at::_scaled_dot_product_flash_attention_for_cpu(
      q.transpose(1, 2), to_query_heads(k, q.size(2)), to_query_heads(v, q.size(2)), 0.0, causal, {}, scale);
  return {out.transpose(1, 2), lse};
}

Gradients torch_backward(const at::Tensor& grad, const at::Tensor& q, const at::Tensor& k,
                         const at::Tensor& v, const Result& forward, bool causal, double scale) {
  const auto [dq, dk, dv] = at::_scaled_dot_product_flash_attention_for_cpu_backward(
      grad.transpose(1, 2), q.transpose(1, 2), to_query_heads(k, q.size(2)), to_query_heads(v, q.size(2)),
      forward.out.transpose(1, 2), forward.lse, 0.0, causal, {}, scale);
  return {dq.transpose(1, 2), to_key_heads(dk, k.size(2)), to_key_heads(dv, k.size(2))};
}

// Inputs: q, k, v. Saved: q, k, v, lse, out.
class AttentionNode : public BackwardNode {
 public:
  std::string name() const override { return "d9d::attention"; }
  bool causal = false;
  double scale = 1;

 protected:
  Gradients backward(Gradients grads) override {
    if (!grads[0].defined()) return {{}, {}, {}};
    const at::Tensor q = saved(0);
    const Result forward{saved(4), saved(3)};
    const auto run = blocked_is_possible(q) ? blocked_backward : torch_backward;
    return run(grads[0], q, saved(1), saved(2), forward, causal, scale);
  }
};

}  // namespace

at::Tensor attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, bool causal,
                     double scale) {
  TORCH_CHECK(q.dim() == 4 && k.dim() == 4 && k.sizes() == v.sizes() && q.size(0) == k.size(0) &&
                  q.size(1) == k.size(1) && q.size(3) == k.size(3) && q.size(2) % k.size(2) == 0,
              "attention of q ", q.sizes(), ", k ", k.sizes(), ", v ", v.sizes(),
              ": expected [B, S, Hq, D] and twice [B, S, Hkv, D] with Hq divisible by Hkv");
  const auto node = node_for<AttentionNode>({q, k, v});
  Result result;
  {
    BelowAutograd below;
    result = (blocked_is_possible(q) ? blocked_forward : torch_forward)(q, k, v, causal, scale);
  }
  if (node) {
    node->causal = causal;
    node->scale = scale;
    node->save({q, k, v, result.lse});
    torch::autograd::set_history(result.out, node);
    node->save_output(result.out);
  }
  return result.out;
}

}  // namespace d9d::kernels
