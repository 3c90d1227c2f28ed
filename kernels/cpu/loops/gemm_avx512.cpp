#include "kernels/cpu/loops/gemm_avx512.hpp"

#include "kernels/cpu/loops/gemm_avx512.inl"

namespace d9d::kernels {
namespace {

// A word is one element.
struct FloatPanels {
  static constexpr int64_t elements_per_word = 1;

  static void pack_rows(const GemmInput& a, int64_t first, int64_t rows, int64_t k0, int64_t kc, float* to) {
    (a.bf16 ? pack_a<Bf16> : pack_a<float>)(a, first, rows, k0, kc, to);
  }
  static void pack_columns(const GemmInput& b, int64_t j, int64_t columns, int64_t k0, int64_t kc,
                           float* to) {
    (b.bf16 ? pack_b<Bf16> : pack_b<float>)(b, j, columns, k0, kc, to);
  }
  // Whether tiles read a where it is. Rows a multiple of 4 KiB apart share cache sets: those are packed.
  static bool is_direct(const GemmInput& a, int64_t) { return !a.bf16 && !a.rows && a.stride % 1024 != 0; }
};

}  // namespace

void gemm_avx512(int64_t m, int64_t n, int64_t k, const GemmInput& a, const GemmInput& b,
                 const GemmOutput& c) {
  multiply_blocked<RegisterTiles<FloatPanels, MultiplyAdd>>(m, n, k, a, b, c);
}

}  // namespace d9d::kernels
