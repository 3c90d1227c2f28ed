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
        for (const std::int64_t n : {1, 2, 7, 64}) {
          for (const std::int64_t k : {1, 15, 33, 300}) {
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
  const at::Tensor a = values({12, 500}, 1, at::kFloat), weight = values({9, 500}, 2, at::kFloat);
  const at::Tensor all = at::empty({12, 9}), one = at::empty({1, 4});
  kernels::matmul(all, a, weight.t());

  for (std::int64_t row = 0; row < 12; ++row) {
    kernels::matmul(one, a.narrow(0, row, 1), weight.narrow(0, 5, 4).t());
    EXPECT_TRUE(one.equal(all.narrow(0, row, 1).narrow(1, 5, 4))) << row;
  }
}

}  // namespace
}  // namespace d9d::test
