// What gemm_bf16_test.cpp does not ask of products by tile registers.
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/equal.h>
#include <gtest/gtest.h>

#include "kernels/cpu/isa.hpp"
#include "kernels/cpu/matmul.hpp"
#include "tests/support/gradcheck.hpp"

using d9d::kernels::gemm_amx;
using d9d::kernels::gemm_avx512;
using d9d::kernels::cpu::gemm_input;
using d9d::kernels::cpu::transposed;
using d9d::test::values;

#define D9D_NEEDS_TILES()                                             \
  if (d9d::kernels::isa_of_this_machine() < d9d::kernels::Isa::amx) { \
    GTEST_SKIP() << "this machine has no tile registers";             \
  }

TEST(GemmAmx, GathersScattersScalesAndAdds) {
  D9D_NEEDS_TILES();
  constexpr int64_t m = 37, n = 50, k = 1100, rows_of_a = 60;
  const auto a = values({rows_of_a, k}, 1, at::kBFloat16), b = values({k, n}, 2, at::kBFloat16);
  const auto before = values({rows_of_a, n}, 3, at::kBFloat16), scale = values({m}, 4, at::kFloat);
  const auto from = at::arange(m).mul(7).remainder(rows_of_a),
             to = at::arange(m).mul(11).remainder(rows_of_a);
  const auto product_of = [&](decltype(&gemm_avx512) run) {
    at::Tensor c = before.clone();
    run(m, n, k, gemm_input(a, from.const_data_ptr<int64_t>()), gemm_input(b),
        {c.data_ptr(), n, true, true, to.const_data_ptr<int64_t>(), scale.const_data_ptr<float>()});
    return c.to(at::kFloat);
  };
  d9d::test::expect_close(product_of(gemm_amx), product_of(gemm_avx512), 4e-3, "one rounding to bfloat16");
}

TEST(GemmAmx, APartHasTheBitsOfTheWhole) {
  D9D_NEEDS_TILES();
  constexpr int64_t m = 70, n = 200, k = 1500;
  const auto a = values({m, k}, 1, at::kBFloat16), b = values({n, k}, 2, at::kBFloat16);
  const auto whole = at::empty({m, n}), part = at::empty({m, n});
  gemm_amx(m, n, k, gemm_input(a), transposed(gemm_input(b)), {whole.data_ptr(), n});
  for (const int64_t row : {0, 29}) {
    const int64_t rows = row == 0 ? 29 : m - 29;
    gemm_amx(rows, n, k, gemm_input(a.narrow(0, row, rows)), transposed(gemm_input(b)),
             {part.select(0, row).data_ptr(), n});
  }
  EXPECT_TRUE(at::equal(whole, part));
}
