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
  const std::int32_t scale = (std::bit_cast<std::int32_t>(shifted) + 127) << 23;
  return p * std::bit_cast<float>(scale);
}
inline double exponential(double x) { return std::exp(x); }

template <class S>
inline S sigmoid(S x) {
  return S(1) / (S(1) + exponential(-x));
}
