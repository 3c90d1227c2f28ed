// x, residual (data may be null), y, sum [rows, width]; weight [width]; inverse [rows]. y and sum are dense.
template <class T>
void rms_norm(int64_t rows, int64_t width, Rows<const T> x, Rows<const T> residual, const T* weight, Sum<T> eps,
              Sum<T> offset, T* sum, T* y, Sum<T>* inverse) {
  using S = Sum<T>;
  for (int64_t row = 0; row < rows; ++row) {
    const T* in = x.data + row * x.stride;
    S squares = 0;
    if (residual.data) {
      const T* other = residual.data + row * residual.stride;
      T* kept = sum + row * width;
#pragma omp simd reduction(+ : squares)
      for (int64_t i = 0; i < width; ++i) {
        store(kept[i], to_sum(in[i]) + to_sum(other[i]));
        const S value = to_sum(kept[i]);
        squares += value * value;
      }
      in = kept;
    } else {
#pragma omp simd reduction(+ : squares)
      for (int64_t i = 0; i < width; ++i) squares += to_sum(in[i]) * to_sum(in[i]);
    }
    const S scale = S(1) / std::sqrt(squares / S(width) + eps);
    inverse[row] = scale;
    T* out = y + row * width;
#pragma omp simd
    for (int64_t i = 0; i < width; ++i) store(out[i], to_sum(in[i]) * scale * (offset + to_sum(weight[i])));
  }
}

// With n = x * inverse and g = dy * w:  dx = inverse * (g - n * mean(g * n)).
// dy, x, extra (data may be null), dx [rows, width]; weight [width]; inverse [rows]. dx is dense.
template <class T>
void rms_norm_dx(int64_t rows, int64_t width, Rows<const T> dy, Rows<const T> x, const T* weight, Sum<T> offset,
                 const Sum<T>* inverse, Rows<const T> extra, T* dx) {
  using S = Sum<T>;
  for (int64_t row = 0; row < rows; ++row) {
    const T* grad = dy.data + row * dy.stride;
    const T* in = x.data + row * x.stride;
    S dot = 0;
#pragma omp simd reduction(+ : dot)
    for (int64_t i = 0; i < width; ++i) dot += to_sum(grad[i]) * (offset + to_sum(weight[i])) * to_sum(in[i]);
    const S scale = inverse[row];
    const S back = dot * scale * scale / S(width);
    T* out = dx + row * width;
    if (extra.data) {
      const T* more = extra.data + row * extra.stride;
#pragma omp simd
      for (int64_t i = 0; i < width; ++i) {
        store(out[i], to_sum(more[i]) +
                          scale * (to_sum(grad[i]) * (offset + to_sum(weight[i])) - to_sum(in[i]) * back));
      }
    } else {
#pragma omp simd
      for (int64_t i = 0; i < width; ++i) {
        store(out[i], scale * (to_sum(grad[i]) * (offset + to_sum(weight[i])) - to_sum(in[i]) * back));
      }
    }
  }
}

// dy, x [rows, width]; inverse [rows]; dw [width].
template <class T>
void rms_norm_dw(int64_t rows, int64_t width, Rows<const T> dy, Rows<const T> x, const Sum<T>* inverse, Sum<T>* dw) {
  for (int64_t row = 0; row < rows; ++row) {
    const T* grad = dy.data + row * dy.stride;
    const T* in = x.data + row * x.stride;
    const Sum<T> scale = inverse[row];
#pragma omp simd
    for (int64_t i = 0; i < width; ++i) dw[i] += to_sum(grad[i]) * to_sum(in[i]) * scale;
  }
}

// As rms_norm, of (n - mean(n)) / sqrt(variance(n) + eps) * weight. mean [rows].
template <class T>
void layer_norm(int64_t rows, int64_t width, Rows<const T> x, Rows<const T> residual, const T* weight, Sum<T> eps,
                T* sum, T* y, Sum<T>* inverse, Sum<T>* mean) {
  using S = Sum<T>;
  for (int64_t row = 0; row < rows; ++row) {
    const T* in = x.data + row * x.stride;
    S total = 0;
    if (residual.data) {
      const T* other = residual.data + row * residual.stride;
      T* kept = sum + row * width;
#pragma omp simd reduction(+ : total)
      for (int64_t i = 0; i < width; ++i) {
        store(kept[i], to_sum(in[i]) + to_sum(other[i]));
        total += to_sum(kept[i]);
      }
      in = kept;
    } else {
#pragma omp simd reduction(+ : total)
      for (int64_t i = 0; i < width; ++i) total += to_sum(in[i]);
    }
    const S middle = total / S(width);
    S squares = 0;
#pragma omp simd reduction(+ : squares)
    for (int64_t i = 0; i < width; ++i) {
      const S value = to_sum(in[i]) - middle;
      squares += value * value;
    }
    const S scale = S(1) / std::sqrt(squares / S(width) + eps);
    inverse[row] = scale;
    mean[row] = middle;
    T* out = y + row * width;
#pragma omp simd
    for (int64_t i = 0; i < width; ++i) store(out[i], (to_sum(in[i]) - middle) * scale * to_sum(weight[i]));
  }
}

// With n = (x - mean) * inverse and g = dy * w:  dx = inverse * (g - mean(g) - n * mean(g * n)).
template <class T>
void layer_norm_dx(int64_t rows, int64_t width, Rows<const T> dy, Rows<const T> x, const T* weight,
                   const Sum<T>* inverse, const Sum<T>* mean, Rows<const T> extra, T* dx) {
  using S = Sum<T>;
  for (int64_t row = 0; row < rows; ++row) {
    const T* grad = dy.data + row * dy.stride;
    const T* in = x.data + row * x.stride;
    const S middle = mean[row], scale = inverse[row];
    S dot = 0, total = 0;
#pragma omp simd reduction(+ : dot, total)
    for (int64_t i = 0; i < width; ++i) {
      const S g = to_sum(grad[i]) * to_sum(weight[i]);
      dot += g * (to_sum(in[i]) - middle);
      total += g;
    }
    const S back = dot * scale * scale / S(width), level = total / S(width);
    T* out = dx + row * width;
    const T* more = extra.data ? extra.data + row * extra.stride : nullptr;
#pragma omp simd
    for (int64_t i = 0; i < width; ++i) {
      const S g = to_sum(grad[i]) * to_sum(weight[i]);
      const S own = scale * (g - level - (to_sum(in[i]) - middle) * back);
      store(out[i], more ? to_sum(more[i]) + own : own);
    }
  }
}

template <class T>
void layer_norm_dw(int64_t rows, int64_t width, Rows<const T> dy, Rows<const T> x, const Sum<T>* inverse,
                   const Sum<T>* mean, Sum<T>* dw) {
  for (int64_t row = 0; row < rows; ++row) {
    const T* grad = dy.data + row * dy.stride;
    const T* in = x.data + row * x.stride;
    const Sum<T> scale = inverse[row], middle = mean[row];
#pragma omp simd
    for (int64_t i = 0; i < width; ++i) dw[i] += to_sum(grad[i]) * (to_sum(in[i]) - middle) * scale;
  }
}
