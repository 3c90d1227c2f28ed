#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

#include <algorithm>

#include "kernels/cpu/attention_portable.hpp"
#include "kernels/cpu/dispatch.hpp"
#include "kernels/cpu/isa.hpp"
#include "kernels/cpu/loops/attention_avx512.hpp"
#include "kernels/cpu/ops.hpp"
#include "kernels/ops/backend.hpp"

namespace d9d::kernels::cpu {
namespace {

bool blocked_is_possible(const at::Tensor& q) {
  return isa_of_this_machine() >= Isa::avx512 && q.scalar_type() != at::kDouble && q.size(3) <= panel_words;
}

// Whether the blocked loops compute it, and not the library. c10::Error where the job asks for what cannot be.
bool takes_blocks(const at::Tensor& q, const at::Tensor& v) {
  const bool possible = blocked_is_possible(q) && blocked_is_possible(v);
  const AttentionBackend chosen = backends().attention;
  TORCH_CHECK(chosen != AttentionBackend::composed,
              "attention: the CPU has no backend `composed`; choose own, library or auto (node.attention, "
              "D9D_ATTENTION)");
  TORCH_CHECK(chosen != AttentionBackend::own || possible, "attention of ", q.scalar_type(), " heads of ",
              q.size(3), " and values of ", v.size(3),
              ": the backend `own` needs AVX-512, float32 or bfloat16, and at most ", panel_words,
              " elements; choose library or auto (node.attention, D9D_ATTENTION)");
  return possible && chosen != AttentionBackend::library;
}

at::Tensor with_dense_dim(const at::Tensor& x) {
  return x.stride(3) == 1 ? x : x.contiguous();
}

// Returns head `head` of sequence `batch` of x [B, S, H, D] as a matrix operand.
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

// Returns the query heads that read key head `head`.
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
// The same for lse [B, Hq, S] with dense rows.
std::vector<float*> lse_group_of(const at::Tensor& lse, int64_t batch, int64_t head, int64_t group) {
  std::vector<float*> rows;
  for (int64_t g = 0; g < group; ++g) {
    rows.push_back(data_of<float>(lse) + batch * lse.stride(0) + (head * group + g) * lse.stride(1));
  }
  return rows;
}

// The elements of a bias, or of its gradient, for the queries of a group: those of query i begin at
// data + i * stride.
struct BiasPlace {
  int64_t head_stride, query_stride, first;

  BiasPlace(const at::Tensor& values, bool by_distance, int64_t queries, int64_t batch, int64_t first_head) {
    const auto stride = [&](int64_t dim) { return values.size(dim) == 1 ? 0 : values.stride(dim); };
    head_stride = stride(1);
    query_stride = by_distance ? -1 : stride(2);
    first = batch * stride(0) + first_head * head_stride + (by_distance ? queries - 1 : 0);
  }
};
std::vector<BiasRows> bias_group_of(const ScoreBias& bias, int64_t queries, int64_t batch, int64_t head,
                                    int64_t group) {
  std::vector<BiasRows> rows;
  if (!bias.any()) return rows;
  const BiasPlace place(bias.values, bias.by_distance, queries, batch, head * group);
  for (int64_t g = 0; g < group; ++g) {
    const int64_t at = place.first + g * place.head_stride;
    rows.push_back({static_cast<const char*>(bias.values.const_data_ptr()) + at * bias.values.element_size(),
                    place.query_stride, bias.values.scalar_type() == at::kBFloat16});
  }
  return rows;
}
ScoreBias with_dense_dim(const ScoreBias& bias) {
  return bias.any() ? ScoreBias{with_dense_dim(bias.values), bias.by_distance, bias.wants_gradient} : bias;
}

// Calls f(batch, key head) for all key heads, in parallel; `one_by_one`: those of one head in the order of the batch.
template <class F>
void for_key_heads(const at::Tensor& k, F&& f, bool one_by_one = false) {
  const int64_t batch = k.size(0), heads = k.size(2);
  if (one_by_one) {
    at::parallel_for(0, heads, 1, [&](int64_t begin, int64_t end) {
      for (int64_t head = begin; head < end; ++head) {
        for (int64_t b = 0; b < batch; ++b) f(b, head);
      }
    });
    return;
  }
  at::parallel_for(0, batch * heads, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) f(i / heads, i % heads);
  });
}

// What the queries of a sequence see. `batch` is needed only for the limits of its keys.
AttentionShape shape_of(const at::Tensor& q, const at::Tensor& k, const AttentionMask& mask, double scale,
                        const VisibleKeys& visible, int64_t batch) {
  return {q.size(1),
          k.size(1),
          q.size(3),
          q.size(2) / k.size(2),
          mask,
          static_cast<float>(scale),
          limits_of(visible.first, batch),
          limits_of(visible.end, batch)};
}

AttentionBlock blocked_forward(const at::Tensor& queries, const at::Tensor& keys, const at::Tensor& values,
                               const AttentionMask& mask, double scale, at::ScalarType dtype,
                               const VisibleKeys& visible, const ScoreBias& given_bias) {
  const ScoreBias bias = with_dense_dim(given_bias);
  const at::Tensor q = with_dense_dim(queries), k = with_dense_dim(keys), v = with_dense_dim(values);
  const auto options = q.options().requires_grad(false);
  AttentionBlock result{at::empty(q.sizes(), options.dtype(dtype)),
                        at::empty({q.size(0), q.size(2), q.size(1)}, options.dtype(at::kFloat))};
  for_key_heads(k, [&](int64_t batch, int64_t head) {
    const auto shape = shape_of(q, k, mask, scale, visible, batch);
    const auto group = group_of(q, batch, head, shape.group);
    const auto biases = bias_group_of(bias, shape.queries, batch, head, shape.group);
    attention_avx512(shape,
                     {group.data(), head_of(k, batch, head), head_of(v, batch, head),
                      bias.any() ? biases.data() : nullptr},
                     output_group_of(result.out, batch, head, shape.group).data(),
                     lse_group_of(result.lse, batch, head, shape.group).data());
  });
  return result;
}

// Of biases that all heads share for each key head.
at::Tensor zeros_for_gradient(const at::Tensor& values, int64_t key_heads) {
  std::vector<int64_t> sizes = values.sizes().vec();
  if (sizes[1] == 1) sizes[1] = key_heads;
  return at::zeros(sizes, values.options().requires_grad(false).dtype(at::kFloat));
}

// Where the gradients of the biases of a key head's group are in `dbias`; nowhere if that is not defined.
struct BiasGradients {
  std::vector<float*> rows;
  int64_t query_stride = 0;

  BiasGradients(const at::Tensor& dbias, bool by_distance, int64_t heads, const AttentionShape& shape,
                int64_t batch, int64_t head) {
    if (!dbias.defined()) return;
    const bool by_head = dbias.size(1) == heads;
    const BiasPlace place(dbias, by_distance, shape.queries, batch, by_head ? head * shape.group : head);
    query_stride = place.query_stride;
    for (int64_t g = 0; g < shape.group; ++g)
      rows.push_back(data_of<float>(dbias) + place.first + (by_head ? g * place.head_stride : 0));
  }
};

AttentionBlockGradients blocked_backward(const at::Tensor& grad, const at::Tensor& queries,
                                         const at::Tensor& keys, const at::Tensor& values,
                                         const AttentionBlock& forward, const AttentionMask& mask,
                                         double scale, at::ScalarType dtype, const VisibleKeys& visible,
                                         const ScoreBias& given_bias) {
  const ScoreBias bias = with_dense_dim(given_bias);
  const at::Tensor q = with_dense_dim(queries), k = with_dense_dim(keys), v = with_dense_dim(values);
  const at::Tensor dout = with_dense_dim(grad);
  const at::Tensor out = with_dense_dim(forward.out);
  const auto options = q.options().requires_grad(false).dtype(dtype);
  AttentionBlockGradients result{at::empty(q.sizes(), options), at::empty(k.sizes(), options),
                                 at::empty(k.sizes(), options)};
  // What sequences share is summed in turn by one thread, what heads share for each key head alone, and then added up:
  // the order of the sums depends on shapes only.
  const at::Tensor dbias = bias.wants_gradient ? zeros_for_gradient(bias.values, k.size(2)) : at::Tensor();
  const bool one_by_one = bias.wants_gradient && dbias.size(0) < k.size(0);
  const auto attend = [&](int64_t batch, int64_t head) {
    const auto shape = shape_of(q, k, mask, scale, visible, batch);
    const auto q_group = group_of(q, batch, head, shape.group),
               dout_group = group_of(dout, batch, head, shape.group);
    const auto out_group = group_of(out, batch, head, shape.group);
    const auto lse_group = lse_group_of(forward.lse, batch, head, shape.group);
    const auto biases = bias_group_of(bias, shape.queries, batch, head, shape.group);
    AttentionGradients gradients{out_group.data(), dout_group.data(), lse_group.data()};
    const BiasGradients dbias_group(dbias, bias.by_distance, q.size(2), shape, batch, head);
    if (dbias.defined()) gradients.dbias = dbias_group.rows.data();
    gradients.bias_stride = dbias_group.query_stride;
    attention_backward_avx512(shape,
                              {q_group.data(), head_of(k, batch, head), head_of(v, batch, head),
                               bias.any() ? biases.data() : nullptr},
                              gradients, output_group_of(result.dq, batch, head, shape.group).data(),
                              output_head_of(result.dk, batch, head), output_head_of(result.dv, batch, head));
  };
  for_key_heads(k, attend, one_by_one);
  if (dbias.defined())
    result.dbias = dbias.size(1) == bias.values.size(1) ? dbias : dbias.sum(1, /*keepdim=*/true);
  return result;
}

// The blocked kernels need one width for all heads. Narrower ones are padded with zeros, which add
// nothing to scores, sums or gradients.
at::Tensor widened(const at::Tensor& x, int64_t width) {
  return x.size(3) == width ? x : at::constant_pad_nd(x, {0, width - x.size(3)});
}

AttentionBlock attention_block(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                               const AttentionMask& mask, double scale, at::ScalarType dtype,
                               const VisibleKeys& visible, const ScoreBias& bias) {
  const auto run = takes_blocks(q, v) ? blocked_forward : attention_portable;
  if (q.size(3) == v.size(3)) return run(q, k, v, mask, scale, dtype, visible, bias);
  const int64_t width = std::max(q.size(3), v.size(3));
  const AttentionBlock even =
      run(widened(q, width), widened(k, width), widened(v, width), mask, scale, dtype, visible, bias);
  return {even.out.narrow(3, 0, v.size(3)).contiguous(), even.lse};
}

AttentionBlockGradients attention_block_backward(const at::Tensor& grad, const at::Tensor& q,
                                                 const at::Tensor& k, const at::Tensor& v,
                                                 const AttentionBlock& forward, const AttentionMask& mask,
                                                 double scale, at::ScalarType dtype,
                                                 const VisibleKeys& visible, const ScoreBias& bias) {
  const auto run = takes_blocks(q, v) ? blocked_backward : attention_backward_portable;
  if (q.size(3) == v.size(3)) return run(grad, q, k, v, forward, mask, scale, dtype, visible, bias);
  const int64_t width = std::max(q.size(3), v.size(3));
  const AttentionBlockGradients even =
      run(widened(grad, width), widened(q, width), widened(k, width), widened(v, width),
          {widened(forward.out, width), forward.lse}, mask, scale, dtype, visible, bias);
  const auto cut = [](const at::Tensor& x, const at::Tensor& like) { return x.narrow(3, 0, like.size(3)); };
  return {cut(even.dq, q), cut(even.dk, k), cut(even.dv, v), even.dbias};
}

}  // namespace

void add_attention(OpTable& table) {
  table.attention_block = attention_block;
  table.attention_block_backward = attention_block_backward;
}

}  // namespace d9d::kernels::cpu
