template <class T>
void widen(int64_t dim, Sum<T> scale, const T* x, Sum<T>* q) {
#pragma omp simd
  for (int64_t i = 0; i < dim; ++i) q[i] = scale * to_sum(x[i]);
}

// rows [keys, dim], four at a time, so that an element of q is loaded once for four sums.
template <class T>
void key_scores(int64_t keys, int64_t dim, const T* rows, const Sum<T>* q, Sum<T>* scores) {
  using S = Sum<T>;
  int64_t key = 0;
  for (; key + 4 <= keys; key += 4, rows += 4 * dim) {
    S a = 0, b = 0, c = 0, d = 0;
#pragma omp simd reduction(+ : a, b, c, d)
    for (int64_t i = 0; i < dim; ++i) {
      a += q[i] * to_sum(rows[i]);
      b += q[i] * to_sum(rows[dim + i]);
      c += q[i] * to_sum(rows[2 * dim + i]);
      d += q[i] * to_sum(rows[3 * dim + i]);
    }
    scores[key] = a;
    scores[key + 1] = b;
    scores[key + 2] = c;
    scores[key + 3] = d;
  }
  for (; key < keys; ++key, rows += dim) {
    S a = 0;
#pragma omp simd reduction(+ : a)
    for (int64_t i = 0; i < dim; ++i) a += q[i] * to_sum(rows[i]);
    scores[key] = a;
  }
}

// Columns first .. first + Width of weigh_rows, with a constant Width so that sums may stay in registers.
template <int Width, class T>
inline void weigh_columns(int64_t keys, int64_t dim, const T* rows, const Sum<T>* weights, Sum<T> scale, T* y) {
  Sum<T> sums[Width] = {};
  for (int64_t key = 0; key < keys; ++key, rows += dim) {
    const Sum<T> weight = weights[key];
#pragma omp simd
    for (int i = 0; i < Width; ++i) sums[i] += weight * to_sum(rows[i]);
  }
#pragma omp simd
  for (int i = 0; i < Width; ++i) store(y[i], scale * sums[i]);
}

template <class T>
void weigh_rows(int64_t keys, int64_t dim, const T* rows, const Sum<T>* weights, Sum<T> scale, T* y) {
  int64_t first = 0;
  for (; first + 64 <= dim; first += 64) weigh_columns<64>(keys, dim, rows + first, weights, scale, y + first);
  for (; first + 16 <= dim; first += 16) weigh_columns<16>(keys, dim, rows + first, weights, scale, y + first);
  for (; first < dim; ++first) weigh_columns<1>(keys, dim, rows + first, weights, scale, y + first);
}

template <class S>
void delta_step(const DeltaStep<S>& token, S* state, S* change, S* out) {
  const int64_t dk = token.dk, dv = token.dv;
  for (int64_t d = 0; d < dv; ++d) change[d] = out[d] = 0;
  for (int64_t i = 0; i < dk; ++i) {
    S* const row = state + i * dv;
    const S key = token.k[i];
#pragma omp simd
    for (int64_t d = 0; d < dv; ++d) {
      row[d] *= token.kept;
      change[d] += key * row[d];
    }
  }
#pragma omp simd
  for (int64_t d = 0; d < dv; ++d) change[d] = token.beta * (token.v[d] - change[d]);
  for (int64_t i = 0; i < dk; ++i) {
    S* const row = state + i * dv;
    const S key = token.k[i], query = token.q[i];
#pragma omp simd
    for (int64_t d = 0; d < dv; ++d) {
      row[d] += key * change[d];
      out[d] += query * row[d];
    }
  }
}
