#include "kernels/cpu/loops/few_rows.hpp"

#include <ATen/Functions.h>
#include <gtest/gtest.h>

#include "kernels/cpu/isa.hpp"
#include "kernels/cpu/matmul.hpp"
#include "kernels/matmul.hpp"
#include "tests/support/gradcheck.hpp"

namespace d9d::test {
namespace {

at::Tensor exact(const at::Tensor& a, const at::Tensor& weight) {
  return at::mm(a.to(at::kDouble), weight.to(at::kDouble).t());
}

// Every number of rows, widths that are no whole vectors, strided rows; other types go another way.
TEST(FewRows, AreMultipliedWithAnyWeight) {
  for (const auto dtype : {at::kFloat, at::kBFloat16}) {
    for (const auto of_weight : {at::kFloat, at::kBFloat16}) {
      for (const std::int64_t rows : {1, 2, 5, 8, 9, 16}) {
        for (const std::int64_t n : {1, 2, 7, 37, 64}) {
          for (const std::int64_t k : {1, 15, 32, 33, 300, 320}) {  // tiles take whole 32
            SCOPED_TRACE(testing::Message() << rows << " x " << n << " x " << k);
            const at::Tensor a = values({rows, k + 3}, 1, dtype).narrow(1, 1, k),
                             weight = values({n, k}, 2, of_weight);
            const at::Tensor c = at::ones({rows, n + 2}, dtype).narrow(1, 1, n);

            kernels::matmul(c, a, weight.t());

            expect_close(c, exact(a, weight), dtype == at::kFloat ? 1e-6 : tolerance(dtype), "product");
          }
        }
      }
    }
  }
}

// One by one, or computed in parts: the same bits.
TEST(FewRows, DoNotDependOnThoseBesideThem) {
  if (kernels::isa_of_this_machine() < kernels::Isa::avx512) GTEST_SKIP() << "the library multiplies";
  for (const auto dtype : {at::kFloat, at::kBFloat16}) {
    for (const std::int64_t k : {500, 512}) {
      const at::Tensor a = values({12, k}, 1, dtype), weight = values({41, k}, 2, dtype);
      const auto options = at::TensorOptions(dtype);
      const at::Tensor all = at::empty({12, 41}, options), one = at::empty({1, 4}, options);
      kernels::matmul(all, a, weight.t());

      for (std::int64_t row = 0; row < 12; ++row) {
        kernels::matmul(one, a.narrow(0, row, 1), weight.narrow(0, 35, 4).t());
        EXPECT_TRUE(one.equal(all.narrow(0, row, 1).narrow(1, 35, 4))) << row;
      }
    }
  }
}

// Logits are of fp32.
TEST(FewRows, OfBf16AreSummedInFp32) {
  const at::Tensor a = values({8, 96}, 1, at::kBFloat16), weight = values({20, 96}, 2, at::kBFloat16);
  const at::Tensor c = at::empty({8, 20});

  kernels::matmul(c, a, weight.t());

  expect_close(c, exact(a, weight), 1e-6, "product");
}

}  // namespace
}  // namespace d9d::test
