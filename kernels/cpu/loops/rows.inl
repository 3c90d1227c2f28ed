// z [width]: logits of one token. With e = exp(z - max z) and t = sum e: z := e - t at the label, e elsewhere, so that
// z / t is the gradient of the loss. *inverse = 1 / t.
template <class S>
S cross_entropy_row(int64_t width, S* z, int64_t label, bool gradient, S* inverse) {
  S top = z[0];
#pragma omp simd reduction(max : top)
  for (int64_t i = 0; i < width; ++i) top = z[i] > top ? z[i] : top;
  const S at_label = z[label];
  S total = 0;
  if (gradient) {
#pragma omp simd reduction(+ : total)
    for (int64_t i = 0; i < width; ++i) total += z[i] = exponential(z[i] - top);
    z[label] -= total;
  } else {
#pragma omp simd reduction(+ : total)
    for (int64_t i = 0; i < width; ++i) total += exponential(z[i] - top);
  }
  *inverse = S(1) / total;
  return std::log(total) + top - at_label;
}

// z [width]. *largest = max z; returns the sum of exp(z - max z).
template <class S>
S exponential_sum(int64_t width, const S* z, S* largest) {
  S top = z[0];
#pragma omp simd reduction(max : top)
  for (int64_t i = 0; i < width; ++i) top = z[i] > top ? z[i] : top;
  S total = 0;
#pragma omp simd reduction(+ : total)
  for (int64_t i = 0; i < width; ++i) total += exponential(z[i] - top);
  *largest = top;
  return total;
}

// z [width] := exp(z - *largest) with *largest := the larger of what it was and max z; returns their sum.
template <class S>
S online_exponentials(int64_t width, S* z, S* largest) {
  S top = *largest;
#pragma omp simd reduction(max : top)
  for (int64_t i = 0; i < width; ++i) top = z[i] > top ? z[i] : top;
  S total = 0;
#pragma omp simd reduction(+ : total)
  for (int64_t i = 0; i < width; ++i) total += z[i] = exponential(z[i] - top);
  *largest = top;
  return total;
}

// z [width] := exp(z - shift).
template <class S>
void exponentials(int64_t width, S* z, S shift) {
#pragma omp simd
  for (int64_t i = 0; i < width; ++i) z[i] = exponential(z[i] - shift);
}

// z, probabilities [width].
template <class T>
void softmax_row(int64_t width, const T* z, Sum<T>* probabilities) {
  using S = Sum<T>;
  S top = to_sum(z[0]);
#pragma omp simd reduction(max : top)
  for (int64_t i = 0; i < width; ++i) top = to_sum(z[i]) > top ? to_sum(z[i]) : top;
  S total = 0;
#pragma omp simd reduction(+ : total)
  for (int64_t i = 0; i < width; ++i) total += probabilities[i] = exponential(to_sum(z[i]) - top);
  const S scale = S(1) / total;
#pragma omp simd
  for (int64_t i = 0; i < width; ++i) probabilities[i] *= scale;
}

// rows [R, width], index and scale [count] (scale may be null: one), y [width].
template <class T>
void combine_rows(int64_t count, int64_t width, Rows<const T> rows, const int64_t* index, const Sum<T>* scale, T* y) {
  using S = Sum<T>;
  constexpr int64_t block = 64;  // sums stay in registers
  int64_t begin = 0;
  for (; begin < width; begin += block) {
    const int64_t size = width - begin < block ? width - begin : block;
    S sums[block] = {};
    for (int64_t j = 0; j < count; ++j) {
      if (index[j] < 0) continue;
      const T* row = rows.data + index[j] * rows.stride + begin;
      const S factor = scale ? scale[j] : S(1);
#pragma omp simd
      for (int64_t i = 0; i < size; ++i) sums[i] += factor * to_sum(row[i]);
    }
#pragma omp simd
    for (int64_t i = 0; i < size; ++i) store(y[begin + i], sums[i]);
  }
}

// x, y [width].
template <class T>
void scale_row(int64_t width, Sum<T> scale, const T* x, T* y) {
#pragma omp simd
  for (int64_t i = 0; i < width; ++i) store(y[i], scale * to_sum(x[i]));
}

template <class T>
void add_row(int64_t width, const T* x, Sum<T>* y) {
#pragma omp simd
  for (int64_t i = 0; i < width; ++i) y[i] += to_sum(x[i]);
}

template <class T>
Sum<T> dot(int64_t width, const T* x, const T* y) {
  Sum<T> total = 0;
#pragma omp simd reduction(+ : total)
  for (int64_t i = 0; i < width; ++i) total += to_sum(x[i]) * to_sum(y[i]);
  return total;
}
