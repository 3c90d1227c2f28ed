#include "kernels/cuda/attention/delta_chunks.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/ones.h>

#include <limits>
#include <vector>

#include "kernels/cuda/attention/delta_states.hpp"
#include "kernels/cuda/attention/lower_inverse.hpp"
#include "kernels/cuda/unwrap.hpp"

namespace d9d::cuda {
namespace {

at::Tensor transposed(const at::Tensor& matrices) {
  return matrices.transpose(-2, -1);
}
// Each row of matrices times a number of its own.
at::Tensor by_row(const at::Tensor& matrices, const at::Tensor& numbers) {
  return matrices * numbers.unsqueeze(-1);
}
at::Tensor row_dots(const at::Tensor& a, const at::Tensor& b) {
  return (a * b).sum(-1);
}
at::Tensor last_of(const at::Tensor& rows) {
  return rows.narrow(-1, rows.size(-1) - 1, 1);
}

// [n, n]: numbers [.., n] times it are their running sums. A product, because cumsum is not deterministic on a GPU.
at::Tensor running(const at::Tensor& numbers) {
  return at::ones({numbers.size(-1), numbers.size(-1)}, numbers.options()).triu();
}

at::Tensor inverse_of(const at::Tensor& lower) {
  at::Tensor inverse = at::empty_like(lower);
  const int64_t rows = lower.size(-1);
  check_launch(lower_inverse({.count = lower.numel() / (rows * rows),
                              .rows = static_cast<int>(rows),
                              .n = lower.const_data_ptr<float>(),
                              .inverse = data_of<float>(inverse)},
                             stream_of(lower)),
               "delta_rule");
  return inverse;
}

// What chunks need of themselves, before a state comes to them.
struct Chunks {
  at::Tensor kept, to_end;          // exp(G), exp(G_n - G): [C, A, g, n]
  at::Tensor decays, keys;          // D, K K^T: [C, A, g or 1, n, n]
  at::Tensor n, p, inverse;         // N, P, T: [C, A, g, n, n]
  at::Tensor y;                     // [U, W]: [C, A, g, n, Dv + Dk]
  at::Tensor decayed_q, decayed_k;  // [C, A, g, n, Dk]

  explicit Chunks(const DeltaChunks& in) {
    const at::Tensor sums = at::matmul(in.decay, running(in.decay));
    kept = sums.exp().contiguous();
    to_end = (last_of(sums) - sums).exp();
    // Above the diagonal the exponent is positive and may be too large.
    const at::Tensor above = running(sums).triu(1).to(at::kBool);
    decays = (sums.unsqueeze(-1) - sums.unsqueeze(-2))
                 .masked_fill_(above, -std::numeric_limits<double>::infinity())
                 .exp_();
    keys = at::matmul(in.k, transposed(in.k));
    n = by_row(keys * decays, -in.beta).tril(-1).contiguous();
    p = at::matmul(in.q, transposed(in.k)) * decays;
    inverse = inverse_of(n);
    decayed_q = by_row(in.q, kept);
    decayed_k = by_row(in.k, to_end).contiguous();
    y = at::matmul(inverse, at::cat(std::vector{by_row(in.v, in.beta), by_row(in.k, -in.beta * kept)}, -1))
            .contiguous();
  }
  at::Tensor u() const { return y.narrow(-1, 0, y.size(-1) - decayed_k.size(-1)); }
  at::Tensor w() const { return y.narrow(-1, y.size(-1) - decayed_k.size(-1), decayed_k.size(-1)); }
};

// What all launches of the carried state have in common, with its results [C, A, g, ..].
DeltaStates states_of(const Chunks& chunks, const at::Tensor& states, const at::Tensor& values) {
  const auto rows = static_cast<int>(values.size(3)), dk = static_cast<int>(states.size(3)),
             dv = static_cast<int>(states.size(4));
  TORCH_CHECK(fits_delta_states(rows, dk), "delta_rule with keys of ", dk,
              " elements: their state does not fit the shared memory of d9d's CUDA kernels");
  return {.chunks = states.size(0),
          .heads = states.size(1) * states.size(2),
          .tokens = rows,
          .dk = dk,
          .dv = dv,
          .kept = chunks.kept.const_data_ptr<float>(),
          .states = data_of<float>(states),
          .values = data_of<float>(values)};
}

struct Carried {
  at::Tensor states;  // S at the beginnings of the chunks: [C, A, g, Dk, Dv]
  at::Tensor values;  // V': [C, A, g, n, Dv]
};

Carried carry(const Chunks& chunks) {
  const at::Tensor u = chunks.u(), w = chunks.w();
  const Carried result{at::empty({u.size(0), u.size(1), u.size(2), w.size(4), u.size(4)}, u.options()),
                       at::empty(u.sizes(), u.options())};
  DeltaStates call = states_of(chunks, result.states, result.values);
  call.base = u.const_data_ptr<float>(), call.base_stride = u.stride(3);
  call.reads = w.const_data_ptr<float>(), call.reads_stride = w.stride(3);
  call.writes = chunks.decayed_k.const_data_ptr<float>(), call.writes_stride = call.dk;
  check_launch(delta_states(call, stream_of(u)), "delta_rule");
  return result;
}

struct CarriedBack {
  at::Tensor dstates;  // of S at the ends of the chunks
  at::Tensor dvalues;  // of V'
};

CarriedBack carry_back(const at::Tensor& dout, const Chunks& chunks, const Carried& carried) {
  const CarriedBack result{at::empty_like(carried.states), at::empty_like(carried.values)};
  const at::Tensor from_out = at::matmul(transposed(chunks.p), dout).contiguous(),
                   to_state = at::matmul(transposed(chunks.decayed_q), dout).contiguous(), w = chunks.w();
  DeltaStates call = states_of(chunks, result.dstates, result.dvalues);
  call.backward = true;
  call.base = from_out.const_data_ptr<float>(), call.base_stride = call.dv;
  call.reads = chunks.decayed_k.const_data_ptr<float>(), call.reads_stride = call.dk;
  call.writes = w.const_data_ptr<float>(), call.writes_stride = w.stride(3);
  call.added = to_state.const_data_ptr<float>();
  check_launch(delta_states(call, stream_of(w)), "delta_rule_backward");
  return result;
}

}  // namespace

at::Tensor delta_chunks(const DeltaChunks& in) {
  const Chunks chunks(in);
  const Carried carried = carry(chunks);
  return at::matmul(chunks.decayed_q, carried.states).add_(at::matmul(chunks.p, carried.values));
}

DeltaChunks delta_chunks_backward(const at::Tensor& dout, const DeltaChunks& in) {
  const Chunks chunks(in);
  const Carried carried = carry(chunks);
  const auto [dstates, dvalues] = carry_back(dout, chunks, carried);
  const int64_t dv = in.v.size(-1), dk = in.k.size(-1);

  // Through Y = T X.
  const at::Tensor dy = at::cat(std::vector{dvalues, at::matmul(dvalues, transposed(carried.states))}, -1);
  const at::Tensor dx = at::matmul(transposed(chunks.inverse), dy);
  const at::Tensor dn = at::matmul(dx, transposed(chunks.y)).tril_(-1),
                   dp = at::matmul(dout, transposed(carried.values));

  // Of the decayed queries and keys, and of G by them.
  const at::Tensor from_state = at::matmul(dout, transposed(carried.states)),
                   to_state = at::matmul(carried.values, transposed(dstates));
  at::Tensor dq = by_row(from_state, chunks.kept), dkeys = by_row(to_state, chunks.to_end);
  at::Tensor dsums = row_dots(chunks.decayed_q, from_state);
  const at::Tensor share = row_dots(chunks.decayed_k, to_state);
  dsums.sub_(share);
  const at::Tensor at_end = (carried.states * dstates).sum({-2, -1}).unsqueeze(-1).mul_(last_of(chunks.kept));
  last_of(dsums).add_(share.sum(-1, /*keepdim=*/true)).add_(at_end);

  // Of N and P, which are 0 above the diagonal, and of G by D.
  const at::Tensor by_decay = (dn * chunks.n).add_(dp * chunks.p);
  dsums.add_(by_decay.sum(-1)).sub_(by_decay.sum(-2));
  at::Tensor dbeta = row_dots(dn * chunks.keys, chunks.decays).neg_();
  const at::Tensor dscores = dp * chunks.decays, dproducts = by_row(dn * chunks.decays, -in.beta);
  dq.add_(at::matmul(dscores, in.k));
  dkeys.add_(at::matmul(transposed(dscores), in.q)).add_(at::matmul(dproducts + transposed(dproducts), in.k));

  // Of X = [beta V, -beta exp(G) K].
  const at::Tensor dx_values = dx.narrow(-1, 0, dv), dx_keys = dx.narrow(-1, dv, dk);
  const at::Tensor along_key = row_dots(in.k, dx_keys).mul_(chunks.kept);
  dbeta.add_(row_dots(in.v, dx_values)).sub_(along_key);
  dsums.sub_(in.beta * along_key);
  dkeys.sub_(by_row(dx_keys, in.beta * chunks.kept));
  return {.q = dq.sum(2, /*keepdim=*/true),
          .k = dkeys.sum(2, /*keepdim=*/true),
          .v = by_row(dx_values, in.beta),
          .decay = at::matmul(dsums, transposed(running(dsums))),
          .beta = dbeta};
}

}  // namespace d9d::cuda
