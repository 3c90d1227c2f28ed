#pragma once
// Small matrix products over pointers, for the chunks of the delta rule.

#include "kernels/cpu/matmul.hpp"

namespace d9d::kernels::cpu {

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

}  // namespace d9d::kernels::cpu
