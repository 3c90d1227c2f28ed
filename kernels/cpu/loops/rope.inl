// One head, x and y [dim], cos and sin [rotary]: y = rotate(n) with n = x, or
// x * scale * (offset + weight) if there is one.
// Pairs (a, b): a' = a cos - b sin, b' = b cos + a sin.
// Normed is a constant, because a loop that asks for it in every element stays scalar.
template <bool Normed, class T>
inline void rotate_head(const HeadsShape<T>& shape, const T* x, Sum<T> scale, const Sum<T>* cos, const Sum<T>* sin,
                        T* y) {
  using S = Sum<T>;
  const T* w = shape.weight;
  const int64_t half = shape.rotary / 2;
  [[maybe_unused]] const S offset = shape.offset;
  auto normed = [=](int64_t i) {
    if constexpr (Normed) return as_stored<T>(to_sum(x[i]) * scale * (offset + to_sum(w[i])));
    return to_sum(x[i]);
  };
  if (shape.interleaved) {
    for (int64_t i = 0; i < half; ++i) {
      const S a = normed(2 * i), b = normed(2 * i + 1);
      store(y[2 * i], a * cos[2 * i] - b * sin[2 * i]);
      store(y[2 * i + 1], b * cos[2 * i + 1] + a * sin[2 * i + 1]);
    }
  } else {
#pragma omp simd
    for (int64_t i = 0; i < half; ++i) {
      const S a = normed(i), b = normed(i + half);
      store(y[i], a * cos[i] - b * sin[i]);
      store(y[i + half], b * cos[i + half] + a * sin[i + half]);
    }
  }
  for (int64_t i = shape.rotary; i < shape.dim; ++i) store(y[i], normed(i));
}

// The transpose of the rotation: dy, dn [dim], cos and sin [rotary].
template <class T>
inline void rotate_back(const HeadsShape<T>& shape, const T* dy, const Sum<T>* cos, const Sum<T>* sin, Sum<T>* dn) {
  using S = Sum<T>;
  const int64_t half = shape.rotary / 2;
  if (shape.interleaved) {
    for (int64_t i = 0; i < half; ++i) {
      const S a = to_sum(dy[2 * i]), b = to_sum(dy[2 * i + 1]);
      dn[2 * i] = a * cos[2 * i] + b * sin[2 * i + 1];
      dn[2 * i + 1] = b * cos[2 * i + 1] - a * sin[2 * i];
    }
  } else {
#pragma omp simd
    for (int64_t i = 0; i < half; ++i) {
      const S a = to_sum(dy[i]), b = to_sum(dy[i + half]);
      dn[i] = a * cos[i] + b * sin[i + half];
      dn[i + half] = b * cos[i + half] - a * sin[i];
    }
  }
  for (int64_t i = shape.rotary; i < shape.dim; ++i) dn[i] = to_sum(dy[i]);
}

// x, y [tokens, heads, dim]; cos, sin [tokens, rotary]; inverse [tokens, heads], written only with a weight.
template <class T>
void heads(int64_t tokens, const HeadsShape<T>& shape, Rows<const T> x, Rows<const Sum<T>> cos, Rows<const Sum<T>> sin,
           T* y, Sum<T>* inverse) {
  using S = Sum<T>;
  for (int64_t token = 0; token < tokens; ++token) {
    for (int64_t head = 0; head < shape.heads; ++head) {
      const T* in = x.data + token * x.stride + head * shape.dim;
      S scale = 1;
      if (shape.weight) {
        S squares = 0;
#pragma omp simd reduction(+ : squares)
        for (int64_t i = 0; i < shape.dim; ++i) squares += to_sum(in[i]) * to_sum(in[i]);
        scale = S(1) / std::sqrt(squares / S(shape.dim) + shape.eps);
        inverse[token * shape.heads + head] = scale;
      }
      (shape.weight ? rotate_head<true, T> : rotate_head<false, T>)(shape, in, scale, cos.data + token * cos.stride, sin.data + token * sin.stride,
                     y + (token * shape.heads + head) * shape.dim);
    }
  }
}

// dy, x, dx [tokens, heads, dim]; cos, sin [tokens, rotary]; inverse [tokens, heads]; dw [dim], may be null.
template <class T>
void heads_backward(int64_t tokens, const HeadsShape<T>& shape, Rows<const T> dy, Rows<const T> x,
                    Rows<const Sum<T>> cos, Rows<const Sum<T>> sin, const Sum<T>* inverse, Rows<T> dx, Sum<T>* dw) {
  using S = Sum<T>;
  constexpr int64_t dim_max = 1024;
  S dn[dim_max];
  for (int64_t token = 0; token < tokens; ++token) {
    for (int64_t head = 0; head < shape.heads; ++head) {
      rotate_back<T>(shape, dy.data + token * dy.stride + head * shape.dim, cos.data + token * cos.stride,
                     sin.data + token * sin.stride, dn);
      T* out = dx.data + token * dx.stride + head * shape.dim;
      if (!shape.weight) {
        for (int64_t i = 0; i < shape.dim; ++i) store(out[i], dn[i]);
        continue;
      }
      const T* in = x.data + token * x.stride + head * shape.dim;
      const T* w = shape.weight;
      const S scale = inverse[token * shape.heads + head];
      S dot = 0;
#pragma omp simd reduction(+ : dot)
      for (int64_t i = 0; i < shape.dim; ++i) dot += dn[i] * (shape.offset + to_sum(w[i])) * to_sum(in[i]);
      const S back = dot * scale * scale / S(shape.dim);
#pragma omp simd
      for (int64_t i = 0; i < shape.dim; ++i) {
        store(out[i], scale * (dn[i] * (shape.offset + to_sum(w[i])) - to_sum(in[i]) * back));
      }
      if (!dw) continue;
#pragma omp simd
      for (int64_t i = 0; i < shape.dim; ++i) dw[i] += dn[i] * to_sum(in[i]) * scale;
    }
  }
}
