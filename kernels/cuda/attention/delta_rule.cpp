// The gated delta rule by batched products over all chunks at once; one pass over the chunks carries the state. Names
// and formulas are those of delta_shape.hpp and kernels/cpu/delta_heads.cpp.
#include <ATen/ops/baddbmm.h>
#include <ATen/ops/bmm.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>

#include <algorithm>

#include "kernels/cuda/attention/delta_chunks.hpp"
#include "kernels/cuda/attention/delta_inputs.hpp"
#include "kernels/cuda/attention/delta_lower.hpp"
#include "kernels/cuda/attention/delta_states.hpp"
#include "kernels/cuda/ops.hpp"
#include "kernels/cuda/unwrap.hpp"

namespace d9d::cuda {
namespace {

using kernels::DeltaRuleGradients;
using kernels::DeltaRuleOptions;

// Of each of the tensors over all chunks, of which there are some ten.
constexpr int64_t numbers_at_once = int64_t{1} << 27;

// Contiguous.
struct Operands {
  at::Tensor q, k, v, decay, beta;

  Operands sequences(int64_t first, int64_t count) const {
    const auto part = [&](const at::Tensor& x) { return x.narrow(0, first, count); };
    return {part(q), part(k), part(v), part(decay), part(beta)};
  }
};

at::Tensor transposed(const at::Tensor& matrices) {
  return matrices.transpose(1, 2);
}

DeltaShape shape_of(const Operands& in, int64_t chunk) {
  const int64_t length = in.q.size(1), tokens = std::min(chunk, length), dk = in.q.size(3);
  TORCH_CHECK(tokens <= delta_tokens_max, "delta_rule in chunks of ", tokens,
              " tokens: the CUDA kernels of d9d take up to ", delta_tokens_max);
  TORCH_CHECK(fits_delta_states(tokens, dk), "delta_rule with keys of ", dk,
              " elements: their state does not fit the shared memory of d9d's CUDA kernels");
  return {.sequences = in.q.size(0),
          .length = length,
          .key_heads = in.q.size(2),
          .chunks = (length + tokens - 1) / tokens,
          .group = static_cast<int>(in.v.size(2) / in.q.size(2)),
          .tokens = static_cast<int>(tokens),
          .dk = static_cast<int>(dk),
          .dv = static_cast<int>(in.v.size(3))};
}

// Chunks of some sequences, up to the states that go through them. Tensors are [M, ..] of key heads, or [M group, ..]
// of value heads.
class Chunks {
 public:
  // `dout` may be undefined.
  Chunks(const Operands& in, const DeltaRuleOptions& options, const at::Tensor& dout)
      : in_(in), options_(options), shape_(shape_of(in, options.chunk)) {
    open(dout);
    const at::Tensor keys_back = transposed(keys_);
    products_ = at::bmm(keys_, keys_back);
    scores_ = at::bmm(queries_, keys_back);
    p_ = of_values(n(), n());
    inverse_ = of_values(n(), n());
    check_launch(delta_lower({.shape = shape_,
                              .products = products_.const_data_ptr<float>(),
                              .scores = scores_.const_data_ptr<float>(),
                              .sums = sums_.const_data_ptr<float>(),
                              .betas = betas_.const_data_ptr<float>(),
                              .p = data_of<float>(p_),
                              .inverse = data_of<float>(inverse_)},
                             stream_of(p_)),
                 "delta_rule");
    y_ = at::bmm(inverse_, x_);
    carry();
  }

  void forward(const at::Tensor& out) const {
    const at::Tensor made = at::bmm(decayed_q_, states_).baddbmm_(p_, values_);
    check_launch(delta_close({.type = type_of(out),
                              .shape = shape_,
                              .chunks = made.const_data_ptr<float>(),
                              .out = data_of(out)},
                             stream_of(out)),
                 "delta_rule");
  }

  void backward(const Operands& into) const;

 private:
  int64_t n() const { return shape_.tokens; }
  at::Tensor of_keys(int64_t columns) const { return empty({shape_.key_matrices(), n(), columns}); }
  at::Tensor of_values(int64_t rows, int64_t columns) const {
    return empty({shape_.value_matrices(), rows, columns});
  }
  at::Tensor empty(at::IntArrayRef sizes) const {
    return at::empty(sizes, in_.v.options().requires_grad(false).dtype(at::kFloat));
  }

  void open(const at::Tensor& dout) {
    const int64_t dk = shape_.dk, dv = shape_.dv;
    queries_ = of_keys(dk), keys_ = of_keys(dk), inverse_q_ = of_keys(1), inverse_k_ = of_keys(1);
    sums_ = of_values(n(), 1), kept_ = of_values(n(), 1), betas_ = of_values(n(), 1);
    x_ = of_values(n(), dv + dk), decayed_q_ = of_values(n(), dk), decayed_k_ = of_values(n(), dk);
    if (dout.defined()) douts_ = of_values(n(), dv);
    check_launch(delta_open({.type = type_of(in_.v),
                             .shape = shape_,
                             .scale = static_cast<float>(options_.scale),
                             .normalise = options_.normalise,
                             .q = in_.q.const_data_ptr(),
                             .k = in_.k.const_data_ptr(),
                             .v = in_.v.const_data_ptr(),
                             .decay = in_.decay.const_data_ptr<float>(),
                             .beta = in_.beta.const_data_ptr<float>(),
                             .dout = data_of(dout),
                             .queries = data_of<float>(queries_),
                             .keys = data_of<float>(keys_),
                             .inverse_q = data_of<float>(inverse_q_),
                             .inverse_k = data_of<float>(inverse_k_),
                             .sums = data_of<float>(sums_),
                             .kept = data_of<float>(kept_),
                             .betas = data_of<float>(betas_),
                             .x = data_of<float>(x_),
                             .decayed_q = data_of<float>(decayed_q_),
                             .decayed_k = data_of<float>(decayed_k_),
                             .douts = data_of<float>(douts_)},
                            stream_of(in_.v)),
                 "delta_rule");
  }

  at::Tensor w() const { return y_.narrow(2, shape_.dv, shape_.dk); }

  // What both launches of the carried state have in common.
  DeltaStates states_of(const at::Tensor& states, const at::Tensor& values) const {
    return {.chunks = shape_.chunks,
            .heads = shape_.value_matrices() / shape_.chunks,
            .tokens = shape_.tokens,
            .dk = shape_.dk,
            .dv = shape_.dv,
            .kept = kept_.const_data_ptr<float>(),
            .values_stride = values.stride(1),
            .states = data_of<float>(states),
            .values = data_of<float>(values)};
  }

  // S at the beginnings of chunks, and V'.
  void carry() {
    states_ = of_values(shape_.dk, shape_.dv);
    values_ = of_values(n(), shape_.dv);
    DeltaStates call = states_of(states_, values_);
    call.base = y_.const_data_ptr<float>(), call.base_stride = y_.stride(1);
    call.reads = w().const_data_ptr<float>(), call.reads_stride = y_.stride(1);
    call.writes = decayed_k_.const_data_ptr<float>(), call.writes_stride = shape_.dk;
    check_launch(delta_states(call, stream_of(y_)), "delta_rule");
  }

  // Of S at the ends of chunks; that of V' goes to `dvalues`.
  at::Tensor carry_back(const at::Tensor& dvalues) const {
    const at::Tensor from_out = at::bmm(transposed(p_), douts_),
                     to_state = at::bmm(transposed(decayed_q_), douts_);
    at::Tensor dstates = at::empty_like(states_);
    DeltaStates call = states_of(dstates, dvalues);
    call.backward = true;
    call.base = from_out.const_data_ptr<float>(), call.base_stride = shape_.dv;
    call.reads = decayed_k_.const_data_ptr<float>(), call.reads_stride = shape_.dk;
    call.writes = w().const_data_ptr<float>(), call.writes_stride = y_.stride(1);
    call.added = to_state.const_data_ptr<float>();
    check_launch(delta_states(call, stream_of(y_)), "delta_rule_backward");
    return dstates;
  }

  const Operands& in_;
  const DeltaRuleOptions& options_;
  const DeltaShape shape_;
  at::Tensor queries_, keys_, inverse_q_, inverse_k_, sums_, kept_, betas_, x_, decayed_q_, decayed_k_,
      douts_;
  at::Tensor products_, scores_;  // K K^T, Q K^T
  at::Tensor p_, inverse_, y_, states_, values_;
};

void Chunks::backward(const Operands& into) const {
  const int64_t dk = shape_.dk, dv = shape_.dv;
  // Through Y = T X.
  const at::Tensor dy = of_values(n(), dv + dk), dvalues = dy.narrow(2, 0, dv);
  const at::Tensor dstates = carry_back(dvalues), states_back = transposed(states_);
  at::Tensor dw = dy.narrow(2, dv, dk);
  at::bmm_out(dw, dvalues, states_back);
  const at::Tensor dx = at::bmm(transposed(inverse_), dy);

  // Of N and P, and by them of Q K^T and K K^T.
  const at::Tensor dn = at::bmm(dx, transposed(y_)), dp = at::bmm(douts_, transposed(values_));
  const at::Tensor dscores = of_keys(n()), dproducts = of_keys(n()), dsums = of_values(n(), 1),
                   dbetas = of_values(n(), 1);
  check_launch(delta_lower_backward({.shape = shape_,
                                     .products = products_.const_data_ptr<float>(),
                                     .scores = scores_.const_data_ptr<float>(),
                                     .sums = sums_.const_data_ptr<float>(),
                                     .betas = betas_.const_data_ptr<float>(),
                                     .dn = dn.const_data_ptr<float>(),
                                     .dp = dp.const_data_ptr<float>(),
                                     .dscores = data_of<float>(dscores),
                                     .dproducts = data_of<float>(dproducts),
                                     .dsums = data_of<float>(dsums),
                                     .dbetas = data_of<float>(dbetas)},
                                    stream_of(dn)),
               "delta_rule_backward");
  const at::Tensor dqueries = at::bmm(dscores, keys_),
                   dkeys = at::bmm(transposed(dscores), queries_).baddbmm_(dproducts, keys_);

  const at::Tensor from_state = at::bmm(douts_, states_back),
                   to_state = at::bmm(values_, transposed(dstates));
  check_launch(delta_inputs_backward({.type = type_of(in_.v),
                                      .shape = shape_,
                                      .scale = static_cast<float>(options_.scale),
                                      .normalise = options_.normalise,
                                      .v = in_.v.const_data_ptr(),
                                      .queries = queries_.const_data_ptr<float>(),
                                      .keys = keys_.const_data_ptr<float>(),
                                      .inverse_q = inverse_q_.const_data_ptr<float>(),
                                      .inverse_k = inverse_k_.const_data_ptr<float>(),
                                      .sums = sums_.const_data_ptr<float>(),
                                      .betas = betas_.const_data_ptr<float>(),
                                      .states = states_.const_data_ptr<float>(),
                                      .dstates = dstates.const_data_ptr<float>(),
                                      .from_state = from_state.const_data_ptr<float>(),
                                      .to_state = to_state.const_data_ptr<float>(),
                                      .dx = dx.const_data_ptr<float>(),
                                      .dsums = dsums.const_data_ptr<float>(),
                                      .dbetas = dbetas.const_data_ptr<float>(),
                                      .dqueries = data_of<float>(dqueries),
                                      .dkeys = data_of<float>(dkeys),
                                      .dq = data_of(into.q),
                                      .dk = data_of(into.k),
                                      .dv = data_of(into.v),
                                      .ddecay = data_of<float>(into.decay),
                                      .dbeta = data_of<float>(into.beta)},
                                     stream_of(dn)),
               "delta_rule_backward");
}

Operands dense(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const at::Tensor& decay,
               const at::Tensor& beta) {
  return {q.contiguous(), k.contiguous(), v.contiguous(), decay.contiguous(), beta.contiguous()};
}

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
  const Operands in = dense(q, k, v, decay, beta);
  at::Tensor out = at::empty(v.sizes(), v.options().requires_grad(false));
  if (out.numel() == 0) return out;
  for_parts(in, [&](int64_t first, int64_t count) {
    const Operands part = in.sequences(first, count);
    Chunks(part, options, {}).forward(out.narrow(0, first, count));
  });
  return out;
}

DeltaRuleGradients delta_rule_backward(const at::Tensor& grad, const at::Tensor& q, const at::Tensor& k,
                                       const at::Tensor& v, const at::Tensor& decay, const at::Tensor& beta,
                                       const DeltaRuleOptions& options) {
  const c10::DeviceGuard guard(v.device());
  const Operands in = dense(q, k, v, decay, beta);
  const at::Tensor dout = grad.contiguous();
  const auto like = [](const at::Tensor& x) {
    return at::empty(x.sizes(), x.options().requires_grad(false));
  };
  const Operands into{like(q), like(k), like(v), like(decay), like(beta)};
  DeltaRuleGradients result{into.q, into.k, into.v, into.decay, into.beta};
  if (v.numel() == 0) return result;
  for_parts(in, [&](int64_t first, int64_t count) {
    const Operands part = in.sequences(first, count);
    Chunks(part, options, dout.narrow(0, first, count)).backward(into.sequences(first, count));
  });
  return result;
}

}  // namespace

void add_delta_rule(kernels::OpTable& table) {
  table.delta_rule = delta_rule;
  table.delta_rule_backward = delta_rule_backward;
}

}  // namespace d9d::cuda
