#include "kernels/cpu/loops/few_rows.inl"

namespace d9d::kernels {
namespace {

template <class TA, class TB>
struct FloatVectors {
  using A = TA;
  using B = TB;
  static constexpr int64_t size = 16;
  template <class T>
  static __m512 load(const T* from, int64_t left) {
    return d9d::kernels::load(from, first_lanes(left));
  }
  static __m512 add(__m512 sum, __m512 a, __m512 b) { return _mm512_fmadd_ps(a, b, sum); }
};

}  // namespace

void few_rows_avx512(int64_t m, int64_t n, int64_t k, const GemmInput& a, const GemmInput& b,
                     const GemmOutput& c) {
  const auto product = a.bf16 ? (b.bf16 ? multiply_few_rows<FloatVectors<Bf16, Bf16>>
                                        : multiply_few_rows<FloatVectors<Bf16, float>>)
                              : (b.bf16 ? multiply_few_rows<FloatVectors<float, Bf16>>
                                        : multiply_few_rows<FloatVectors<float, float>>);
  product(m, n, k, a, b, c);
}

}  // namespace d9d::kernels
