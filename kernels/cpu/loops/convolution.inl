// rows[j] [width] of `taps` tokens, weight [taps, width]; sums of a block stay in registers.
constexpr int64_t convolution_block = 64;

template <class R, class S>
inline void weighted_sum(int64_t taps, int64_t width, int64_t begin, int64_t size, const R* const* rows,
                         const S* weight, S* sums) {
  for (int64_t i = 0; i < size; ++i) sums[i] = 0;
  for (int64_t j = 0; j < taps; ++j) {
    if (!rows[j]) continue;
    const R* row = rows[j] + begin;
    const S* factor = weight + j * width + begin;
#pragma omp simd
    for (int64_t i = 0; i < size; ++i) sums[i] += factor[i] * to_sum(row[i]);
  }
}

inline int64_t block_at(int64_t begin, int64_t width) {
  return width - begin < convolution_block ? width - begin : convolution_block;
}

// y [width].
template <class T>
void convolve(int64_t taps, int64_t width, const T* const* rows, const Sum<T>* weight, T* y) {
  using S = Sum<T>;
  S sums[convolution_block];
  for (int64_t begin = 0; begin < width; begin += convolution_block) {
    const int64_t size = block_at(begin, width);
    weighted_sum<T, S>(taps, width, begin, size, rows, weight, sums);
#pragma omp simd
    for (int64_t i = 0; i < size; ++i) store(y[begin + i], sums[i] * sigmoid(sums[i]));
  }
}

// dy, dsum [width].
template <class T>
void convolve_dsum(int64_t taps, int64_t width, const T* const* rows, const Sum<T>* weight, const T* dy,
                   Sum<T>* dsum) {
  using S = Sum<T>;
  S sums[convolution_block];
  for (int64_t begin = 0; begin < width; begin += convolution_block) {
    const int64_t size = block_at(begin, width);
    weighted_sum<T, S>(taps, width, begin, size, rows, weight, sums);
#pragma omp simd
    for (int64_t i = 0; i < size; ++i) {
      const S s = sigmoid(sums[i]);
      dsum[begin + i] = to_sum(dy[begin + i]) * (s + sums[i] * s * (S(1) - s));
    }
  }
}

// dx [width].
template <class T>
void convolve_dx(int64_t taps, int64_t width, const Sum<T>* const* rows, const Sum<T>* weight, T* dx) {
  using S = Sum<T>;
  S sums[convolution_block];
  for (int64_t begin = 0; begin < width; begin += convolution_block) {
    const int64_t size = block_at(begin, width);
    weighted_sum<S, S>(taps, width, begin, size, rows, weight, sums);
#pragma omp simd
    for (int64_t i = 0; i < size; ++i) store(dx[begin + i], sums[i]);
  }
}

// dsum, row, dweight [width].
template <class T>
void convolve_dw(int64_t width, const Sum<T>* dsum, const T* row, Sum<T>* dweight) {
#pragma omp simd
  for (int64_t i = 0; i < width; ++i) dweight[i] += dsum[i] * to_sum(row[i]);
}
