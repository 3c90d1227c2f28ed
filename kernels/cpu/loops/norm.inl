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
