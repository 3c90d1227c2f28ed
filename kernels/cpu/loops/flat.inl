// param, grad, exp_avg, exp_avg_sq [count].
void adamw_block(int64_t count, const AdamWPass& s, float* __restrict param, float* __restrict grad,
                 float* __restrict exp_avg, float* __restrict exp_avg_sq) {
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) {
    const float g = grad[i] * s.grad_scale;
    const float m = exp_avg[i] + s.rest1 * (g - exp_avg[i]);
    const float v = exp_avg_sq[i] * s.beta2 + s.rest2 * g * g;
    exp_avg[i] = m;
    exp_avg_sq[i] = v;
    const float denominator = __builtin_sqrtf(v) / s.correction + s.eps;
    param[i] = param[i] * s.decay - s.step_size * (m / denominator);
  }
  if (s.zero_grad) __builtin_memset(grad, 0, static_cast<std::size_t>(count) * sizeof(float));
}

// All [count]. In blocks, so that the zeros are written to lines that are still in the first cache.
void adamw(int64_t count, const AdamWPass& pass, float* param, float* grad, float* exp_avg, float* exp_avg_sq) {
  constexpr int64_t block = 1024;
  const AdamWPass s = pass;
  for (int64_t begin = 0; begin < count; begin += block) {
    adamw_block(count - begin < block ? count - begin : block, s, param + begin, grad + begin, exp_avg + begin,
                exp_avg_sq + begin);
  }
}

// x [count], in blocks that are summed in fp32 and added in fp64.
template <class T>
double sum_of_squares(int64_t count, const T* x) {
  constexpr int64_t block = 4096;
  double total = 0;
  for (int64_t begin = 0; begin < count; begin += block) {
    const int64_t size = count - begin < block ? count - begin : block;
    const T* part = x + begin;
    float sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t i = 0; i < size; ++i) sum += to_sum(part[i]) * to_sum(part[i]);
    total += static_cast<double>(sum);
  }
  return total;
}
