#include "kernels/cpu/loops/few_rows.inl"

namespace d9d::kernels {
namespace {

struct PairVectors {
  using A = Bf16;
  using B = Bf16;
  static constexpr int64_t size = 32;
  static __m512bh load(const Bf16* from, int64_t left) {
    const __mmask32 mask = left >= size ? 0xffffffff : (__mmask32{1} << left) - 1;
    return (__m512bh)_mm512_maskz_loadu_epi16(mask, from);
  }
  static __m512 add(__m512 sum, __m512bh a, __m512bh b) { return _mm512_dpbf16_ps(sum, a, b); }
};

}  // namespace

void few_rows_bf16(int64_t m, int64_t n, int64_t k, const GemmInput& a, const GemmInput& b,
                   const GemmOutput& c) {
  multiply_few_rows<PairVectors>(m, n, k, a, b, c);
}

}  // namespace d9d::kernels
