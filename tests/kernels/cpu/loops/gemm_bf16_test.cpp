#include <ATen/ops/empty.h>
#include <gtest/gtest.h>

#include "kernels/cpu/isa.hpp"
#include "kernels/cpu/matmul.hpp"
#include "tests/support/gradcheck.hpp"

using d9d::kernels::cpu::gemm_input;
using d9d::kernels::cpu::transposed;
using d9d::test::values;

// Sizes around those of a tile (14 x 32), of a word (2) and of a panel (1024 in k).
TEST(GemmBf16, EqualsTheProductOfWidenedOperands) {
  if (d9d::kernels::isa_of_this_machine() < d9d::kernels::Isa::avx512_bf16) {
    GTEST_SKIP() << "this machine does not multiply bfloat16";
  }
  for (const int64_t m : {1, 14, 27}) {
    for (const int64_t n : {1, 16, 32, 47}) {
      for (const int64_t k : {1, 2, 63, 1024, 1025}) {
        SCOPED_TRACE(testing::Message() << m << " x " << n << " x " << k);
        const auto a = values({m, k}, 1, at::kBFloat16), b = values({n, k}, 2, at::kBFloat16);
        const auto pairs = at::empty({m, n}), widened = at::empty({m, n});
        const auto left = gemm_input(a), right = transposed(gemm_input(b));

        d9d::kernels::gemm_bf16(m, n, k, left, right, {pairs.data_ptr(), n});
        d9d::kernels::gemm_avx512(m, n, k, left, right, {widened.data_ptr(), n});

        d9d::test::expect_close(pairs, widened, 2e-6, "product");
      }
    }
  }
}
