// Weights in tile registers where they lie.
#include <ATen/Functions.h>
#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "kernels/cpu/isa.hpp"
#include "kernels/cpu/loops/few_rows.hpp"
#include "tests/support/gradcheck.hpp"

namespace d9d::test {
namespace {

// Beside each row of the weight, and behind the last one, is what spoils every sum that it gets into.
TEST(FewRowsAmx, ReadNothingBesideTheWeight) {
  if (kernels::isa_of_this_machine() < kernels::Isa::amx)
    GTEST_SKIP() << "this machine has no tile registers";
  constexpr std::int64_t k = 96;
  for (const std::int64_t m : {1, 8, 16}) {
    for (const std::int64_t n : {1, 15, 16, 50}) {
      SCOPED_TRACE(testing::Message() << m << " x " << n);
      at::Tensor wide = at::full({n + 1, k + 8}, std::numeric_limits<double>::quiet_NaN(), at::kBFloat16);
      const at::Tensor weight = wide.narrow(0, 0, n).narrow(1, 8, k), a = values({m, k}, 1, at::kBFloat16);
      weight.copy_(values({n, k}, 2, at::kBFloat16));
      const at::Tensor c = at::zeros({m, n + 1});
      std::vector<float> pairs(static_cast<std::size_t>(k / 2 * 16));

      kernels::pair_rows_amx(m, k, {static_cast<const kernels::Bf16*>(a.const_data_ptr()), k}, pairs.data());
      kernels::few_rows_amx<float>(m, n, k, pairs.data(),
                                   {static_cast<const kernels::Bf16*>(weight.const_data_ptr()), k + 8},
                                   c.data_ptr<float>(), n + 1);

      const at::Tensor exact = at::mm(a.to(at::kDouble), weight.to(at::kDouble).t());
      expect_close(c.narrow(1, 0, n), exact, 1e-6, "product");
      EXPECT_TRUE(c.select(1, n).eq(0).all().item<bool>());
    }
  }
}

}  // namespace
}  // namespace d9d::test
