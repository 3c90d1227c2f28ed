template <class T>
void silu_mul(int64_t rows, int64_t width, Rows<const T> gate, Rows<const T> up, Rows<T> out) {
  using S = Sum<T>;
  for (int64_t row = 0; row < rows; ++row) {
    const T* g = gate.data + row * gate.stride;
    const T* u = up.data + row * up.stride;
    T* y = out.data + row * out.stride;
#pragma omp simd
    for (int64_t i = 0; i < width; ++i) {
      const S value = to_sum(g[i]);
      store(y[i], as_stored<T>(value * sigmoid(value)) * to_sum(u[i]));
    }
  }
}

template <class T>
void silu_mul_backward(int64_t rows, int64_t width, Rows<const T> dout, Rows<const T> gate, Rows<const T> up,
                       Rows<T> dgate, Rows<T> dup) {
  using S = Sum<T>;
  for (int64_t row = 0; row < rows; ++row) {
    const T* d = dout.data + row * dout.stride;
    const T* g = gate.data + row * gate.stride;
    const T* u = up.data + row * up.stride;
    T* dg = dgate.data + row * dgate.stride;
    T* du = dup.data + row * dup.stride;
#pragma omp simd
    for (int64_t i = 0; i < width; ++i) {
      const S value = to_sum(g[i]), grad = to_sum(d[i]);
      const S s = sigmoid(value);
      const S silu = value * s;
      store(dg[i], grad * to_sum(u[i]) * (s + silu * (S(1) - s)));
      store(du[i], grad * as_stored<T>(silu));
    }
  }
}
