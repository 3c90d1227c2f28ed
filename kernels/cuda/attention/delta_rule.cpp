#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <array>
#include <vector>

#include "kernels/cuda/attention/delta_chunks.hpp"
#include "kernels/cuda/attention/lower_inverse.hpp"
#include "kernels/cuda/ops.hpp"
#include "kernels/cuda/unwrap.hpp"

namespace d9d::cuda {
namespace {

using kernels::DeltaRuleOptions;

// Of each of the tensors over all chunks, of which there are some ten.
constexpr int64_t numbers_at_once = int64_t{1} << 27;

struct Operands {
  at::Tensor q, k, v, decay, beta;

  Operands sequences(int64_t first, int64_t count) const {
    const auto part = [&](const at::Tensor& x) { return x.narrow(0, first, count); };
    return {part(q), part(k), part(v), part(decay), part(beta)};
  }
};

// Heads [B, S, Hk g, D] as chunks [C, B Hk, g, n, D] and back.
class ChunkLayout {
 public:
  ChunkLayout(const Operands& in, int64_t chunk)
      : length_(in.q.size(1)), key_heads_(in.q.size(2)), tokens_(std::min(chunk, length_)) {
    TORCH_CHECK(tokens_ <= lower_inverse_rows_max, "delta_rule in chunks of ", tokens_,
                " tokens: the CUDA kernels of d9d take up to ", lower_inverse_rows_max);
  }

  at::Tensor chunks(const at::Tensor& heads) const {
    const int64_t count = (length_ + tokens_ - 1) / tokens_, group = heads.size(2) / key_heads_;
    at::Tensor padded = heads.to(at::kFloat);
    if (count * tokens_ > length_)
      padded = at::constant_pad_nd(padded, {0, 0, 0, 0, 0, count * tokens_ - length_});
    return padded.reshape({heads.size(0), count, tokens_, key_heads_, group, heads.size(3)})
        .permute({1, 0, 3, 4, 2, 5})
        .flatten(1, 2)
        .contiguous();
  }
  at::Tensor heads(const at::Tensor& chunks) const {
    return chunks.unflatten(1, {chunks.size(1) / key_heads_, key_heads_})
        .permute({1, 0, 4, 2, 3, 5})
        .flatten(3, 4)
        .flatten(1, 2)
        .narrow(1, 0, length_)
        .contiguous();
  }
  // The same of numbers [B, S, Hv].
  at::Tensor chunks_of_numbers(const at::Tensor& numbers) const {
    return chunks(numbers.unsqueeze(-1)).squeeze(-1);
  }
  at::Tensor numbers(const at::Tensor& chunks) const { return heads(chunks.unsqueeze(-1)).squeeze(-1); }

 private:
  int64_t length_, key_heads_, tokens_;
};

// Queries or keys: x * factor, with factor scale, or scale / sqrt(|x|^2 + eps).
struct Normed {
  at::Tensor x, factor;
  double scale;
  bool normalise;

  Normed(const at::Tensor& heads, double times, bool to_unit) : scale(times), normalise(to_unit) {
    const at::Tensor wide = heads.to(at::kFloat);
    if (normalise)
      factor = (wide.square().sum(-1, /*keepdim=*/true) + kernels::delta_norm_eps)
                   .sqrt_()
                   .reciprocal_()
                   .mul_(scale);
    x = normalise ? wide * factor : wide * scale;
  }
  at::Tensor backward(const at::Tensor& dx) const {
    if (!normalise) return dx * scale;
    const at::Tensor along = (x * dx).sum(-1, /*keepdim=*/true);
    return (dx - x * (along / (scale * scale))).mul_(factor);
  }
};

struct Prepared {
  ChunkLayout layout;
  Normed q, k;
  DeltaChunks chunks;

  Prepared(const Operands& in, const DeltaRuleOptions& options)
      : layout(in, options.chunk),
        q(in.q, options.scale, options.normalise),
        k(in.k, 1, options.normalise),
        chunks{layout.chunks(q.x), layout.chunks(k.x), layout.chunks(in.v),
               layout.chunks_of_numbers(in.decay), layout.chunks_of_numbers(in.beta)} {}
};

// f(first, count) for as many sequences as fit at once.
template <class F>
void for_parts(const Operands& in, F&& f) {
  const int64_t numbers = in.v.size(1) * in.v.size(2) * (in.q.size(3) + in.v.size(3)),
                sequences = in.v.size(0);
  const int64_t at_once = std::max<int64_t>(1, numbers_at_once / numbers);
  for (int64_t first = 0; first < sequences; first += at_once) f(first, std::min(at_once, sequences - first));
}

at::Tensor delta_rule(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const at::Tensor& decay,
                      const at::Tensor& beta, const DeltaRuleOptions& options) {
  const c10::DeviceGuard guard(v.device());
  const Operands in{q, k, v, decay, beta};
  at::Tensor out = at::empty(v.sizes(), v.options().requires_grad(false));
  if (out.numel() == 0) return out;
  for_parts(in, [&](int64_t first, int64_t count) {
    const Prepared part(in.sequences(first, count), options);
    out.narrow(0, first, count).copy_(part.layout.heads(delta_chunks(part.chunks)));
  });
  return out;
}

kernels::DeltaRuleGradients delta_rule_backward(const at::Tensor& grad, const at::Tensor& q,
                                                const at::Tensor& k, const at::Tensor& v,
                                                const at::Tensor& decay, const at::Tensor& beta,
                                                const DeltaRuleOptions& options) {
  const c10::DeviceGuard guard(v.device());
  const Operands in{q, k, v, decay, beta};
  const auto like = [](const at::Tensor& x) {
    return at::empty(x.sizes(), x.options().requires_grad(false));
  };
  const Operands into{like(q), like(k), like(v), like(decay), like(beta)};
  kernels::DeltaRuleGradients result{into.q, into.k, into.v, into.decay, into.beta};
  if (v.numel() == 0) return result;
  for_parts(in, [&](int64_t first, int64_t count) {
    const Prepared part(in.sequences(first, count), options);
    const DeltaChunks d =
        delta_chunks_backward(part.layout.chunks(grad.narrow(0, first, count)), part.chunks);
    const Operands to = into.sequences(first, count);
    to.q.copy_(part.q.backward(part.layout.heads(d.q)));
    to.k.copy_(part.k.backward(part.layout.heads(d.k)));
    to.v.copy_(part.layout.heads(d.v));
    to.decay.copy_(part.layout.numbers(d.decay));
    to.beta.copy_(part.layout.numbers(d.beta));
  });
  return result;
}

}  // namespace

void add_delta_rule(kernels::OpTable& table) {
  table.delta_rule = delta_rule;
  table.delta_rule_backward = delta_rule_backward;
}

}  // namespace d9d::cuda
