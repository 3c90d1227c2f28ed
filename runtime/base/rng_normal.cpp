// Normal numbers (Box and Muller 1958: sqrt(-2 ln u) cos(2 pi v)) from the first two words of an element.
// ln and cos are polynomials of our own, in plain IEEE double arithmetic without
// contraction (see CMakeLists.txt): the values are the same on every processor,
// compiler and vector width, which libm does not promise, and loops over them
// vectorise. Error against exact values: below 1e-11 before the rounding to float.
#include <algorithm>
#include <bit>
#include <cmath>

#include "runtime/base/rng.hpp"

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_THREAD__) && \
    !defined(__SANITIZE_ADDRESS__)
#define D9D_VECTOR_CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define D9D_VECTOR_CLONES
#endif

namespace d9d {
namespace {

// So that a block's words stay in the first-level cache.
constexpr std::size_t block_elements = 512;

struct Words {
  alignas(64) std::uint32_t first[block_elements];
  alignas(64) std::uint32_t second[block_elements];
};

// Lane i: words 0 and 1 of philox4x32({element + i, step},
// key); the same function as philox4x32, lane by lane.
D9D_VECTOR_CLONES void draw(std::uint64_t element, std::uint64_t step, std::uint32_t key0, std::uint32_t key1,
                            Words& words) {
  for (std::size_t i = 0; i < block_elements; ++i) {
    std::uint32_t c0 = static_cast<std::uint32_t>(element + i);
    std::uint32_t c1 = static_cast<std::uint32_t>((element + i) >> 32);
    std::uint32_t c2 = static_cast<std::uint32_t>(step);
    std::uint32_t c3 = static_cast<std::uint32_t>(step >> 32);
    std::uint32_t k0 = key0;
    std::uint32_t k1 = key1;
#pragma GCC unroll 10
    for (int round = 0; round < 10; ++round) {
      const std::uint64_t product0 = std::uint64_t{0xD2511F53} * c0;
      const std::uint64_t product1 = std::uint64_t{0xCD9E8D57} * c2;
      c0 = static_cast<std::uint32_t>(product1 >> 32) ^ c1 ^ k0;
      c1 = static_cast<std::uint32_t>(product1);
      c2 = static_cast<std::uint32_t>(product0 >> 32) ^ c3 ^ k1;
      c3 = static_cast<std::uint32_t>(product0);
      k0 += 0x9E3779B9;
      k1 += 0xBB67AE85;
    }
    words.first[i] = c0;
    words.second[i] = c1;
  }
}

// An integer below 2^52 as a double, by way of its bits:
// there is no vector instruction for it before AVX-512.
inline double from_bits_below_2_52(std::uint64_t value) {
  return std::bit_cast<double>(value | 0x4330000000000000ULL) - 0x1.0p52;
}

// ln of a normal positive number: 2^exponent * mantissa with the mantissa in [sqrt(1/2), sqrt(2)), and
// ln mantissa = 2 artanh(s), s = (mantissa - 1) / (mantissa + 1).
inline double logarithm(double x) {
  constexpr std::uint64_t sqrt_half = 0x3FE6A09E667F3BCDULL;
  const std::uint64_t shifted = std::bit_cast<std::uint64_t>(x) + (0x3FF0000000000000ULL - sqrt_half);
  const double exponent = from_bits_below_2_52(shifted >> 52) - 1023.0;
  const double mantissa = std::bit_cast<double>((shifted & 0x000FFFFFFFFFFFFFULL) + sqrt_half);
  const double s = (mantissa - 1.0) / (mantissa + 1.0);
  const double q = s * s;
  double series = 1.0 / 15;
  series = series * q + 1.0 / 13;
  series = series * q + 1.0 / 11;
  series = series * q + 1.0 / 9;
  series = series * q + 1.0 / 7;
  series = series * q + 1.0 / 5;
  series = series * q + 1.0 / 3;
  series = series * q + 1.0;
  return exponent * 0x1.62e42fefa39efp-1 + 2.0 * s * series;
}

// cos(2 pi turns / 2^32), by a Taylor series: with t in
// [-1/2, 1/2) turns, cos(2 pi t) = sin(pi/2 - 2 pi |t|).
inline double cosine(std::uint32_t turns) {
  const double t = static_cast<double>(static_cast<std::int32_t>(turns)) * 0x1.0p-32;
  const double z = (0.25 - std::abs(t)) * 0x1.921fb54442d18p+2;
  const double q = z * z;
  double series = -1.0 / 1307674368000;
  series = series * q + 1.0 / 6227020800;
  series = series * q - 1.0 / 39916800;
  series = series * q + 1.0 / 362880;
  series = series * q - 1.0 / 5040;
  series = series * q + 1.0 / 120;
  series = series * q - 1.0 / 6;
  series = series * q + 1.0;
  return z * series;
}

D9D_VECTOR_CLONES void to_normal(const Words& words, float* out) {
  for (std::size_t i = 0; i < block_elements; ++i) {
    const double u = (from_bits_below_2_52(words.first[i]) + 0.5) * 0x1.0p-32;
    out[i] = static_cast<float>(std::sqrt(-2.0 * logarithm(u)) * cosine(words.second[i]));
  }
}

}  // namespace

void RandomStream::fill_normal(std::uint64_t first, std::size_t count, float* out) const {
  Words words;
  alignas(64) float values[block_elements];
  for (std::size_t done = 0; done < count; done += block_elements) {
    draw(first + done, step_, key_[0], key_[1], words);
    to_normal(words, values);
    std::copy_n(values, std::min(block_elements, count - done), out + done);
  }
}

float RandomStream::normal(std::uint64_t element) const {
  const auto w = words(element);
  const double u = (w[0] + 0.5) * 0x1.0p-32;
  return static_cast<float>(std::sqrt(-2.0 * logarithm(u)) * cosine(w[1]));
}

}  // namespace d9d
