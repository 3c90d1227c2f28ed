#include "kernels/cpu/matmul.hpp"

#include <ATen/Functions.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include "kernels/cpu/isa.hpp"
#include "kernels/matmul.hpp"
#include "tests/support/gradcheck.hpp"

using d9d::kernels::cpu::gemm_input;
using d9d::test::values;

namespace {

at::Tensor exact(const at::Tensor& a, const at::Tensor& b) {
  return at::mm(a.to(at::kDouble), b.to(at::kDouble));
}

// Rows of a taken from, and rows of c put to, a permuted storage, with a factor per row.
void expect_gathered_product(decltype(&d9d::kernels::cpu::gemm) product, at::ScalarType dtype) {
  const int64_t m = 31, n = 45, k = 70;
  const auto a = values({40, k}, 1, dtype), b = values({80, n}, 2, dtype), scale = values({m}, 3, at::kFloat);
  const auto from_a = at::arange(m).flip(0).contiguous(), from_b = at::arange(k).flip(0).contiguous() + 5;
  const auto to = (at::arange(m) * 2).contiguous();
  const auto c = at::ones({2 * m, n});

  product(m, n, k, gemm_input(a, from_a.data_ptr<int64_t>()), gemm_input(b, from_b.data_ptr<int64_t>()),
          {c.data_ptr(), n, true, false, to.data_ptr<int64_t>(), scale.data_ptr<float>()});

  auto expected = at::ones({2 * m, n}, at::kDouble);
  expected.index_add_(0, to,
                      exact(a.index_select(0, from_a), b.index_select(0, from_b)) * scale.unsqueeze(1));
  d9d::test::expect_close(c, expected, 1e-6, "product");
}

}  // namespace

TEST(Gemm, MultipliesEveryOrientationAndRaggedSize) {
  // The library adds up 600 products in a row, ours in chunks.
  const double bound = d9d::kernels::isa_of_this_machine() >= d9d::kernels::Isa::avx512 ? 1e-6 : 2e-6;
  for (const int64_t m : {1, 13, 14, 15, 29, 240}) {
    for (const int64_t n : {1, 15, 16, 17, 33, 70}) {
      for (const int64_t k : {1, 16, 31, 600}) {
        const auto a = values({m, k}, 1, at::kFloat), b = values({k, n}, 2, at::kFloat);
        // Rows 4 KiB apart are packed, others are read in place.
        const auto far = at::zeros({m, 1024}).narrow(1, 0, k).copy_(a);
        const auto far_across = at::zeros({k, 1024}).narrow(1, 0, m).t().copy_(a);
        for (const auto& left : {a, a.t().contiguous().t(), far, far_across}) {
          for (const auto& right : {b, b.t().contiguous().t()}) {
            SCOPED_TRACE(::testing::Message() << m << " x " << n << " x " << k);
            const auto c = at::ones({m, n + 3}).narrow(1, 1, n);
            d9d::kernels::matmul(c, left, right, 1);
            d9d::test::expect_close(c, exact(a, b) + 1, bound, "added");
            d9d::kernels::matmul(c, left, right, 0);
            d9d::test::expect_close(c, exact(a, b), bound, "written");
          }
        }
      }
    }
  }
}

TEST(Gemm, MultipliesBfloat16OfEveryOrientationAndRaggedSize) {
  for (const int64_t m : {1, 15, 29, 240}) {
    for (const int64_t n : {1, 17, 70}) {
      for (const int64_t k : {1, 2, 31, 33, 1100, 2051}) {
        const auto a = values({m, k}, 1, at::kBFloat16), b = values({k, n}, 2, at::kBFloat16);
        // Rows that can be read in place, and rows whose pairs lie across words.
        const auto wide = at::zeros({m, k + k % 2 + 6}, at::kBFloat16);
        const auto in_place = wide.narrow(1, 2, k).copy_(a), across = wide.clone().narrow(1, 1, k).copy_(a);
        for (const auto& left : {a, a.t().contiguous().t(), in_place, across}) {
          for (const auto& right : {b, b.t().contiguous().t()}) {
            SCOPED_TRACE(::testing::Message() << m << " x " << n << " x " << k);
            const auto sums = at::ones({m, n + 3}).narrow(1, 1, n), alone = at::empty({m, n});
            d9d::kernels::matmul(sums, left, right, 1);
            d9d::kernels::matmul(alone, left, right);
            d9d::test::expect_close(sums, exact(a, b) + 1, 2e-6, "added");
            d9d::test::expect_close(alone, exact(a, b), 2e-6, "written");
            const auto rounded = at::ones({m, n}, at::kBFloat16);
            d9d::kernels::matmul(rounded, left, right, 1);
            d9d::test::expect_close(rounded.to(at::kFloat), alone + 1, 4e-3, "added in bfloat16");
            d9d::kernels::matmul(rounded, left, right);
            EXPECT_TRUE(rounded.equal(alone.to(at::kBFloat16)));
          }
        }
      }
    }
  }
}

TEST(Gemm, GathersAndScattersRows) {
  for (const auto dtype : {at::kFloat, at::kBFloat16}) {
    expect_gathered_product(d9d::kernels::cpu::gemm, dtype);
    expect_gathered_product(d9d::kernels::cpu::gemm_portable, dtype);
  }
}

TEST(Gemm, GivesTheSameBitsOnTwoThreads) {
  const auto a = values({200, 130}, 1, at::kFloat), b = values({130, 190}, 2, at::kFloat);
  const auto alone = at::empty({200, 190}), together = at::empty({200, 190});
  const int before = at::get_num_threads();

  at::set_num_threads(1);
  d9d::kernels::matmul(alone, a, b);
  at::set_num_threads(2);
  d9d::kernels::matmul(together, a, b);
  at::set_num_threads(before);

  EXPECT_TRUE(alone.equal(together));
}
