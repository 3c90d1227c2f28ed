// Products of bfloat16 with bfloat16 by the instruction that adds two of them to an fp32 sum (AVX512_BF16).

#include "kernels/cpu/loops/gemm_avx512.hpp"
#include "kernels/cpu/loops/gemm_avx512.inl"
#include "kernels/cpu/loops/pair_panels_avx512.hpp"

namespace d9d::kernels {
namespace {

struct PairProducts {
  static __m512 of(__m512 sum, __m512 a, __m512 b) {
    return _mm512_dpbf16_ps(sum, (__m512bh)_mm512_castps_si512(a), (__m512bh)_mm512_castps_si512(b));
  }
};

}  // namespace

void gemm_bf16(int64_t m, int64_t n, int64_t k, const GemmInput& a, const GemmInput& b, const GemmOutput& c) {
  multiply_blocked<RegisterTiles<PairPanels, PairProducts>>(m, n, k, a, b, c);
}

}  // namespace d9d::kernels
