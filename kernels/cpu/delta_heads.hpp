#pragma once
// The gated delta rule for one key head of one sequence and the value heads that use
// it. Internal to cpu/.

#include <vector>

#include "kernels/cpu/dispatch.hpp"
#include "kernels/cpu/matmul.hpp"
#include "kernels/ops/recurrent_ops.hpp"

namespace d9d::kernels::cpu {

// Small matrices for the products of a chunk.
template <class S>
struct Matrix {
  S* data;
  int64_t stride;
  bool transposed = false;

  S* row(int64_t i) const { return data + i * stride; }
  Matrix from(int64_t column) const { return {data + column, stride, transposed}; }
};
template <class S>
Matrix<S> t(Matrix<S> matrix) {
  matrix.transposed = !matrix.transposed;
  return matrix;
}

struct ProductShape {
  int64_t rows, columns, depth;
};

// c (+)= a b
inline void product(const ProductShape& of, const Matrix<float>& a, const Matrix<float>& b,
                    const Matrix<float>& c, bool add = false) {
  gemm(of.rows, of.columns, of.depth, {a.data, a.stride, a.transposed}, {b.data, b.stride, b.transposed},
       {c.data, c.stride, add});
}
inline void product(const ProductShape& of, const Matrix<double>& a, const Matrix<double>& b,
                    const Matrix<double>& c, bool add = false) {
  const auto element = [](const Matrix<double>& m, int64_t i, int64_t j) {
    return m.transposed ? m.row(j)[i] : m.row(i)[j];
  };
  for (int64_t i = 0; i < of.rows; ++i) {
    for (int64_t j = 0; j < of.columns; ++j) {
      double sum = add ? c.row(i)[j] : 0;
      for (int64_t p = 0; p < of.depth; ++p) sum += element(a, i, p) * element(b, p, j);
      c.row(i)[j] = sum;
    }
  }
}

struct DeltaSizes {
  int64_t length, key_heads, value_heads, dk, dv;
  DeltaRuleOptions options;

  DeltaSizes(const at::Tensor& q, const at::Tensor& v, const DeltaRuleOptions& given)
      : length(q.size(1)),
        key_heads(q.size(2)),
        value_heads(v.size(2)),
        dk(q.size(3)),
        dv(v.size(3)),
        options(given) {}
  int64_t chunks() const { return (length + options.chunk - 1) / options.chunk; }
  int64_t group() const { return value_heads / key_heads; }  // value heads of a key head
};

// The data of tensors [B, S, heads, ..].
template <class S>
struct DeltaOperands {
  S *q, *k, *v, *decay, *beta;
};

// Works on one key head of one sequence and its value heads, chunk by chunk.
template <class S>
class DeltaHeads {
 public:
  DeltaHeads(const DeltaSizes& sizes, const DeltaOperands<S>& in, int64_t task);

  void forward(S* out);
  void backward(const S* grad, const DeltaOperands<S>& into);

 private:
  const LoopTable<S>& loops() const { return loop_table<S>(); }

  // Returns the offset of token i of the chunk in a tensor with `heads` heads of `width` numbers.
  int64_t at(int64_t i, int64_t heads, int64_t head, int64_t width) const {
    return ((batch_ * sizes_.length + first_ + i) * heads + head) * width;
  }
  int64_t key_at(int64_t i) const { return at(i, sizes_.key_heads, key_head_, sizes_.dk); }
  int64_t value_at(int64_t i) const { return at(i, sizes_.value_heads, head_, sizes_.dv); }
  int64_t gate_at(int64_t i) const { return at(i, sizes_.value_heads, head_, 1); }
  // Returns the chunk's rows of a tensor [B, S, Hv, Dv].
  Matrix<S> value_rows(const S* data) const {
    return {const_cast<S*>(data) + value_at(0), sizes_.value_heads * sizes_.dv};
  }
  Matrix<S> state(std::vector<S>& all, int64_t index) const {
    return {all.data() + index * sizes_.dk * sizes_.dv, sizes_.dv};
  }

  void open_chunk(int64_t chunk);
  void norm(const S* from, S scale, S* to, S* inverse) const;
  void open_head(int64_t member);
  void decay_within();
  void new_values(const Matrix<S>& state);
  void advance(const Matrix<S>& state);
  void chunk_backward(const Matrix<S>& grad, const Matrix<S>& state, const Matrix<S>& dstate);
  void lower_backward(const DeltaOperands<S>& into);
  void inputs_backward(const DeltaOperands<S>& into);
  void keys_backward(const DeltaOperands<S>& into);
  void norm_backward(const Matrix<S>& grad, const Matrix<S>& normed, const S* inverse, S scale, S* into);

  const DeltaSizes& sizes_;
  const DeltaOperands<S>& in_;
  const int64_t batch_, key_head_;
  std::vector<S> states_;  // [group, Dk, Dv]
  std::vector<S> numbers_;
  std::vector<int64_t> iota_;
  int64_t first_ = 0, n_tokens_ = 0;  // of the chunk
  int64_t head_ = 0;                  // the value head

  Matrix<S> keys_, scores_, decays_, n_, p_, t_, dn_, dp_;    // [n, n]; keys: K K^T, scores: Q K^T, decays: D
  Matrix<S> x_, y_, dx_, dy_;                                 // [n, Dv + Dk]
  Matrix<S> q_, k_, decayed_q_, decayed_k_, dq_, dk_, part_;  // [n, Dk]
  Matrix<S> values_;                                          // V', [n, Dv]
  S *q_inverse_, *k_inverse_, *sums_, *kept_, *dsums_;        // [n]; sums: G, kept: exp(G)
};

}  // namespace d9d::kernels::cpu
