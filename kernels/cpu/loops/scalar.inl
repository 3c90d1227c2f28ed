// Scalars that vectorise: conversions and exp. Included by each instruction set's file, inside its own namespace.

inline float to_sum(float x) { return x; }
inline double to_sum(double x) { return x; }
inline float to_sum(Bf16 x) { return std::bit_cast<float>(static_cast<std::uint32_t>(x.bits) << 16); }

inline void store(float& to, float x) { to = x; }
inline void store(double& to, double x) { to = x; }
// Round to nearest even; a NaN stays one.
inline void store(Bf16& to, float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  const std::uint32_t rounded = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
  to.bits = static_cast<std::uint16_t>(x != x ? 0x7fc0 : rounded);
}

// The value x has after it was stored as a T.
template <class T>
inline Sum<T> as_stored(Sum<T> x) {
  T stored;
  store(stored, x);
  return to_sum(stored);
}

// exp by x = n ln 2 + r, |r| <= ln 2 / 2, and a polynomial of degree 6 in r (coefficients of the minimax fit of
// Cephes' expf). Below 1.2 ulp on [-87.3, 88.3]; clamped outside (smallest normal, about 2.1e38).
inline float exponential(float x) {
  x = x < -87.33654f ? -87.33654f : x;
  x = x > 88.3f ? 88.3f : x;
  constexpr float shift = 12582912.0f;  // 1.5 * 2^23: adding it rounds to an integer in the low mantissa bits
  const float shifted = x * 1.44269504088896341f + shift;
  const float n = shifted - shift;
  float r = x - n * 0.693359375f;
  r = r + n * 2.12194440e-4f;
  float p = 1.9875691500e-4f;
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = p * (r * r) + r + 1.0f;
  const std::uint32_t scale = (std::bit_cast<std::uint32_t>(shifted) + 127U) << 23;  // of a NaN, too
  return p * std::bit_cast<float>(scale);
}
inline double exponential(double x) { return std::exp(x); }

template <class S>
inline S sigmoid(S x) {
  return S(1) / (S(1) + exponential(-x));
}

// The share of a normal distribution below x: (1 + erf(x / sqrt(2))) / 2. With a = |x| / sqrt(2) it is a polynomial of
// a^2 up to a = 1, and by erfc(a) = exp(-a^2) p(1 / a^2) / a beyond, where p is one polynomial up to a = 2 and another
// after it (coefficients of Cephes' erff and erfcf). Off by less than 2e-7, and by x^2 2e-7 of a share near 0.
inline float normal_share_below(float x) {
  const float a = (x < 0.0f ? -x : x) * 0.70710678118654752f, square = a * a;
  float p = 7.853861353153693e-5f;
  p = p * square - 8.010193625184903e-4f;
  p = p * square + 5.188327685732524e-3f;
  p = p * square - 2.685381193529856e-2f;
  p = p * square + 1.128358514861418e-1f;
  p = p * square - 3.761262582423300e-1f;
  p = p * square + 1.128379165726710f;
  const float half_erf = 0.5f * a * p;
  const float inverse = 1.0f / (a > 1.0f ? a : 1.0f), y = inverse * inverse;
  float near = 2.326819970068386e-2f;
  near = near * y - 1.387039388740657e-1f;
  near = near * y + 3.687424674597105e-1f;
  near = near * y - 5.824733027278666e-1f;
  near = near * y + 6.210004621745983e-1f;
  near = near * y - 4.944515323274145e-1f;
  near = near * y + 3.404879937665872e-1f;
  near = near * y - 2.741127028184656e-1f;
  near = near * y + 5.638259427386472e-1f;
  float far = -1.047766399936249e+1f;
  far = far * y + 1.297719955372516e+1f;
  far = far * y - 7.495518717768503f;
  far = far * y + 2.921019019210786f;
  far = far * y - 1.015265279202700f;
  far = far * y + 4.218463358204948e-1f;
  far = far * y - 2.820767439740514e-1f;
  far = far * y + 5.641895067754075e-1f;
  const float tail = 0.5f * exponential(-0.5f * x * x) * inverse * (a < 2.0f ? near : far);
  const float beyond = x < 0.0f ? tail : 1.0f - tail, within = 0.5f + (x < 0.0f ? -half_erf : half_erf);
  return a <= 1.0f ? within : beyond;
}
inline double normal_share_below(double x) { return 0.5 * std::erfc(-x * 0.70710678118654752440); }
