// Activations x * share(x). derivative(x, s): theirs, where s = share(x).

// Of x * sigmoid(argument(x)); `slope` is the derivative of the argument.
template <class Argument>
struct OfSigmoid {
  template <class S>
  static S share(S x) {
    return sigmoid(Argument::argument(x));
  }
  template <class S>
  static S derivative(S x, S s) {
    return s + x * s * (S(1) - s) * Argument::slope(x);
  }
};

struct SiluArgument {
  template <class S>
  static S argument(S x) {
    return x;
  }
  template <class S>
  static S slope(S) {
    return S(1);
  }
};
using Silu = OfSigmoid<SiluArgument>;

// 0.5 x (1 + tanh(u)) = x sigmoid(2 u) with u = sqrt(2 / pi) (x + 0.044715 x^3).
struct GeluTanhArgument {
  static constexpr double linear = 1.5957691216057307118, cubic = 0.044715 * linear;
  template <class S>
  static S argument(S x) {
    return x * (S(linear) + S(cubic) * x * x);
  }
  template <class S>
  static S slope(S x) {
    return S(linear) + S(3 * cubic) * x * x;
  }
};
using GeluTanh = OfSigmoid<GeluTanhArgument>;

// 0.5 x (1 + erf(x / sqrt(2))) = x times the share of a normal distribution that is below x.
struct GeluErf {
  template <class S>
  static S share(S x) {
    return normal_share_below(x);
  }
  template <class S>
  static S derivative(S x, S s) {
    constexpr double density_at_0 = 0.39894228040143267794;  // 1 / sqrt(2 pi)
    return s + x * S(density_at_0) * exponential(S(-0.5) * x * x);
  }
};

// gate, up, out [rows, width].
template <class Activation, class T>
void gated_mul(int64_t rows, int64_t width, Rows<const T> gate, Rows<const T> up, Rows<T> out) {
  using S = Sum<T>;
  for (int64_t row = 0; row < rows; ++row) {
    const T* g = gate.data + row * gate.stride;
    const T* u = up.data + row * up.stride;
    T* y = out.data + row * out.stride;
#pragma omp simd
    for (int64_t i = 0; i < width; ++i) {
      const S value = to_sum(g[i]);
      store(y[i], as_stored<T>(value * Activation::share(value)) * to_sum(u[i]));
    }
  }
}

// dout, gate, up, dgate, dup [rows, width].
template <class Activation, class T>
void gated_mul_backward(int64_t rows, int64_t width, Rows<const T> dout, Rows<const T> gate, Rows<const T> up,
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
      const S s = Activation::share(value);
      store(dg[i], grad * to_sum(u[i]) * Activation::derivative(value, s));
      store(du[i], grad * as_stored<T>(value * s));
    }
  }
}

// grad, gate, up, dgate, dup, weighted [rows, width], dense; scale, dscale [rows].
template <class T>
void silu_mul_weighted(int64_t rows, int64_t width, const Sum<T>* scale, const Sum<T>* grad, const T* gate,
                       const T* up, T* dgate, T* dup, T* weighted, Sum<T>* dscale) {
  using S = Sum<T>;
  for (int64_t row = 0; row < rows; ++row) {
    const S factor = scale[row];
    S dot = 0;
#pragma omp simd reduction(+ : dot)
    for (int64_t j = 0; j < width; ++j) {
      const int64_t i = row * width + j;
      const S value = to_sum(gate[i]), above = to_sum(up[i]), d = grad[i];
      const S s = sigmoid(value);
      const S silu = value * s;
      const S hidden = as_stored<T>(silu) * above;
      dot += d * hidden;
      store(weighted[i], factor * hidden);
      store(dgate[i], factor * d * above * (s + silu * (S(1) - s)));
      store(dup[i], factor * d * as_stored<T>(silu));
    }
    dscale[row] = dot;
  }
}
