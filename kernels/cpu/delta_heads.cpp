// A chunk of n tokens of one head, with the state S at its beginning, G the running sum of the decays,
// D_ij = exp(G_i - G_j), K and Q normed, Q scaled (arXiv 2412.06464, section 3.3):
//   N = -strictly lower(diag(beta) K K^T * D)          T = (1 - N)^-1
//   Y = T X with X = [beta V, -beta exp(G) K]           Y = [U, W]
//   V' = U + W S          P = lower(Q K^T * D)
//   out = exp(G) Q S + P V'                             S := exp(G_n) S + (exp(G_n - G) K)^T V'
#include "kernels/cpu/delta_heads.hpp"

#include <cmath>
#include <numeric>

namespace d9d::kernels::cpu {
namespace {

// Returns how many numbers the matrices of a chunk have: see the constructor.
std::size_t numbers_of(const DeltaSizes& sizes) {
  constexpr int64_t squares = 8, wides = 4, key_rows = 7, singles = 5;
  const int64_t c = sizes.options.chunk, wide = sizes.dk + sizes.dv;
  return static_cast<std::size_t>(c *
                                  (squares * c + wides * wide + key_rows * sizes.dk + sizes.dv + singles));
}

}  // namespace

template <class S>
DeltaHeads<S>::DeltaHeads(const DeltaSizes& sizes, const DeltaOperands<S>& in, int64_t task)
    : sizes_(sizes),
      in_(in),
      batch_(task / sizes.key_heads),
      key_head_(task % sizes.key_heads),
      states_(static_cast<std::size_t>(sizes.group() * sizes.dk * sizes.dv)),
      numbers_(numbers_of(sizes)),
      iota_(static_cast<std::size_t>(sizes.options.chunk)) {
  std::iota(iota_.begin(), iota_.end(), 0);
  S* next = numbers_.data();
  const auto take = [&](int64_t width) {
    S* const begin = next;
    next += sizes_.options.chunk * width;
    return Matrix<S>{begin, width};
  };
  const int64_t c = sizes_.options.chunk, dk = sizes_.dk, dv = sizes_.dv;
  for (Matrix<S>* square : {&keys_, &scores_, &decays_, &n_, &p_, &t_, &dn_, &dp_}) *square = take(c);
  for (Matrix<S>* wide : {&x_, &y_, &dx_, &dy_}) *wide = take(dk + dv);
  for (Matrix<S>* row : {&q_, &k_, &decayed_q_, &decayed_k_, &dq_, &dk_, &part_}) *row = take(dk);
  values_ = take(dv);
  for (S** one : {&q_inverse_, &k_inverse_, &sums_, &kept_, &dsums_}) *one = take(1).data;
}

template <class S>
void DeltaHeads<S>::norm(const S* from, S scale, S* to, S* inverse) const {
  *inverse = sizes_.options.normalise
                 ? S(1) / std::sqrt(loops().dot(sizes_.dk, from, from) + static_cast<S>(delta_norm_eps))
                 : S(1);
  loops().scale_row(sizes_.dk, scale * *inverse, from, to);
}

template <class S>
void DeltaHeads<S>::open_chunk(int64_t chunk) {
  first_ = chunk * sizes_.options.chunk;
  n_tokens_ = std::min(sizes_.options.chunk, sizes_.length - first_);
  for (int64_t i = 0; i < n_tokens_; ++i) {
    norm(in_.q + key_at(i), static_cast<S>(sizes_.options.scale), q_.row(i), q_inverse_ + i);
    norm(in_.k + key_at(i), S(1), k_.row(i), k_inverse_ + i);
  }
  product({n_tokens_, n_tokens_, sizes_.dk}, k_, t(k_), keys_);
  product({n_tokens_, n_tokens_, sizes_.dk}, q_, t(k_), scores_);
}

// Computes G, exp(G) and the lower triangle of D.
template <class S>
void DeltaHeads<S>::decay_within() {
  S sum = 0;
  for (int64_t i = 0; i < n_tokens_; ++i) sums_[i] = kept_[i] = sum += in_.decay[gate_at(i)];
  for (int64_t i = 0; i < n_tokens_; ++i) {
    S* const row = decays_.row(i);
    for (int64_t j = 0; j <= i; ++j) row[j] = -sums_[j];
    loops().exponentials(i + 1, row, -sums_[i]);
  }
  loops().exponentials(n_tokens_, kept_, 0);
}

template <class S>
void DeltaHeads<S>::open_head(int64_t member) {
  head_ = key_head_ * sizes_.group() + member;
  decay_within();
  const int64_t n = n_tokens_, dk = sizes_.dk, dv = sizes_.dv;
  const S* const to_end = decays_.row(n - 1);
  for (int64_t i = 0; i < n; ++i) {
    const S beta = in_.beta[gate_at(i)];
    S *const minus = n_.row(i), *const below = p_.row(i), *const inverse = t_.row(i);
    for (int64_t j = 0; j < i; ++j) minus[j] = -beta * keys_.row(i)[j] * decays_.row(i)[j];
    for (int64_t j = 0; j <= i; ++j) below[j] = scores_.row(i)[j] * decays_.row(i)[j];
    std::fill(below + i + 1, below + n, S(0));
    // Row i of T is that of N times the rows of T above, and 1 on the diagonal.
    loops().combine_rows(i, i, {t_.data, t_.stride}, iota_.data(), minus, inverse);
    inverse[i] = 1;
    std::fill(inverse + i + 1, inverse + n, S(0));
    loops().scale_row(dv, beta, in_.v + value_at(i), x_.row(i));
    loops().scale_row(dk, -beta * kept_[i], k_.row(i), x_.row(i) + dv);
    loops().scale_row(dk, kept_[i], q_.row(i), decayed_q_.row(i));
    loops().scale_row(dk, to_end[i], k_.row(i), decayed_k_.row(i));
  }
  product({n, dv + dk, n}, t_, x_, y_);
}

template <class S>
void DeltaHeads<S>::new_values(const Matrix<S>& state) {
  for (int64_t i = 0; i < n_tokens_; ++i) std::copy_n(y_.row(i), sizes_.dv, values_.row(i));
  product({n_tokens_, sizes_.dv, sizes_.dk}, y_.from(sizes_.dv), state, values_, true);
}

template <class S>
void DeltaHeads<S>::advance(const Matrix<S>& state) {
  loops().scale_row(sizes_.dk * sizes_.dv, kept_[n_tokens_ - 1], state.data, state.data);
  product({sizes_.dk, sizes_.dv, n_tokens_}, t(decayed_k_), values_, state, true);
}

template <class S>
void DeltaHeads<S>::forward(S* out) {
  for (int64_t chunk = 0; chunk < sizes_.chunks(); ++chunk) {
    open_chunk(chunk);
    for (int64_t member = 0; member < sizes_.group(); ++member) {
      const Matrix<S> before = state(states_, member);
      open_head(member);
      new_values(before);
      const Matrix<S> rows = value_rows(out);
      product({n_tokens_, sizes_.dv, sizes_.dk}, decayed_q_, before, rows);
      product({n_tokens_, sizes_.dv, n_tokens_}, p_, values_, rows, true);
      advance(before);
    }
  }
}

template <class S>
void DeltaHeads<S>::backward(const S* grad, const DeltaOperands<S>& into) {
  const int64_t group = sizes_.group(), size = sizes_.dk * sizes_.dv;
  std::vector<S> starts(static_cast<std::size_t>(sizes_.chunks() * group * size));
  for (int64_t chunk = 0; chunk < sizes_.chunks(); ++chunk) {
    std::copy(states_.begin(), states_.end(), starts.begin() + chunk * group * size);
    if (chunk + 1 == sizes_.chunks()) break;
    open_chunk(chunk);
    for (int64_t member = 0; member < group; ++member) {
      open_head(member);
      new_values(state(states_, member));
      advance(state(states_, member));
    }
  }
  std::fill(states_.begin(), states_.end(), S(0));  // holds the states' gradients from here on
  for (int64_t chunk = sizes_.chunks() - 1; chunk >= 0; --chunk) {
    open_chunk(chunk);
    std::fill_n(dq_.data, n_tokens_ * sizes_.dk, S(0));
    std::fill_n(dk_.data, n_tokens_ * sizes_.dk, S(0));
    for (int64_t member = 0; member < group; ++member) {
      const Matrix<S> before = state(starts, chunk * group + member);
      open_head(member);
      new_values(before);
      chunk_backward(value_rows(grad), before, state(states_, member));
      lower_backward(into);
      inputs_backward(into);
    }
    keys_backward(into);
  }
}

// Computes the gradients of X (dx), N (dn), P (dp), of the decayed queries and keys (in dq and dk),
// and of S (dstate).
template <class S>
void DeltaHeads<S>::chunk_backward(const Matrix<S>& grad, const Matrix<S>& before, const Matrix<S>& dstate) {
  const int64_t n = n_tokens_, dk = sizes_.dk, dv = sizes_.dv;
  std::fill_n(dsums_, n, S(0));
  product({n, dv, n}, t(p_), grad, dy_);
  product({n, dv, dk}, decayed_k_, dstate, dy_, true);
  product({n, dk, dv}, dy_, t(before), dy_.from(dv));
  product({n, n, dv}, grad, t(values_), dp_);
  product({n, dv + dk, n}, t(t_), dy_, dx_);
  product({n, n, dv + dk}, dx_, t(y_), dn_);

  product({n, dk, dv}, grad, t(before), part_);
  for (int64_t i = 0; i < n; ++i) {
    dsums_[i] += loops().dot(dk, decayed_q_.row(i), part_.row(i));
    loops().scale_row(dk, kept_[i], part_.row(i), part_.row(i));
    loops().add_row(dk, part_.row(i), dq_.row(i));
  }
  product({n, dk, dv}, values_, t(dstate), part_);
  for (int64_t i = 0; i < n; ++i) {
    const S share = loops().dot(dk, decayed_k_.row(i), part_.row(i));
    dsums_[i] -= share;
    dsums_[n - 1] += share;
    loops().scale_row(dk, decays_.row(n - 1)[i], part_.row(i), part_.row(i));
    loops().add_row(dk, part_.row(i), dk_.row(i));
  }
  dsums_[n - 1] += kept_[n - 1] * loops().dot(dk * dv, before.data, dstate.data);
  loops().scale_row(dk * dv, kept_[n - 1], dstate.data, dstate.data);
  product({dk, dv, n}, t(decayed_q_), grad, dstate, true);
  product({dk, dv, n}, t(y_.from(dv)), dy_, dstate, true);
}

// Turns dn and dp into the gradients of K K^T (dn) and Q K^T (dp), and adds those of queries and keys.
template <class S>
void DeltaHeads<S>::lower_backward(const DeltaOperands<S>& into) {
  const int64_t n = n_tokens_, dk = sizes_.dk;
  for (int64_t i = 0; i < n; ++i) {
    const S beta = in_.beta[gate_at(i)];
    const S* const decay = decays_.row(i);
    S *const dn = dn_.row(i), *const dp = dp_.row(i);
    S dbeta = 0, dsum = 0;
    for (int64_t j = 0; j < i; ++j) {
      const S share = dn[j] * n_.row(i)[j] + dp[j] * p_.row(i)[j];
      dsum += share;
      dsums_[j] -= share;
      dbeta -= dn[j] * keys_.row(i)[j] * decay[j];
      dn[j] *= -beta * decay[j];
      dp[j] *= decay[j];
    }
    dsums_[i] += dsum;
    into.beta[gate_at(i)] = dbeta;
    std::fill(dn + i, dn + n, S(0));
    std::fill(dp + i + 1, dp + n, S(0));  // D is 1 on the diagonal
  }
  product({n, dk, n}, dp_, k_, dq_, true);
  product({n, dk, n}, t(dp_), q_, dk_, true);
  product({n, dk, n}, dn_, k_, dk_, true);
  product({n, dk, n}, t(dn_), k_, dk_, true);
}

// Computes the gradients of values, beta and keys from dx, and those of the decays from
// the gradients of G.
template <class S>
void DeltaHeads<S>::inputs_backward(const DeltaOperands<S>& into) {
  const int64_t dk = sizes_.dk, dv = sizes_.dv;
  for (int64_t i = 0; i < n_tokens_; ++i) {
    const S beta = in_.beta[gate_at(i)];
    S *const dvalue = dx_.row(i), *const dkey = dvalue + dv;
    const S along_key = kept_[i] * loops().dot(dk, k_.row(i), dkey);
    into.beta[gate_at(i)] += loops().dot(dv, in_.v + value_at(i), dvalue) - along_key;
    dsums_[i] -= beta * along_key;
    loops().scale_row(dv, beta, dvalue, into.v + value_at(i));
    loops().scale_row(dk, -beta * kept_[i], dkey, dkey);
    loops().add_row(dk, dkey, dk_.row(i));
  }
  S sum = 0;
  for (int64_t i = n_tokens_ - 1; i >= 0; --i) into.decay[gate_at(i)] = sum += dsums_[i];
}

template <class S>
void DeltaHeads<S>::norm_backward(const Matrix<S>& grad, const Matrix<S>& normed, const S* inverse, S scale,
                                  S* into) {
  for (int64_t i = 0; i < n_tokens_; ++i) {
    S* const to = into + key_at(i);
    loops().scale_row(sizes_.dk, scale * inverse[i], grad.row(i), to);
    if (!sizes_.options.normalise) continue;
    const S along = loops().dot(sizes_.dk, normed.row(i), grad.row(i));
    loops().scale_row(sizes_.dk, -along * inverse[i] / scale, normed.row(i), part_.row(i));
    loops().add_row(sizes_.dk, part_.row(i), to);
  }
}

template <class S>
void DeltaHeads<S>::keys_backward(const DeltaOperands<S>& into) {
  norm_backward(dq_, q_, q_inverse_, static_cast<S>(sizes_.options.scale), into.q);
  norm_backward(dk_, k_, k_inverse_, S(1), into.k);
}

template class DeltaHeads<float>;
template class DeltaHeads<double>;

}  // namespace d9d::kernels::cpu
