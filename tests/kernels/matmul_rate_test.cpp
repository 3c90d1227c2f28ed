#include "kernels/matmul_rate.hpp"

#include <ATen/Parallel.h>
#include <gtest/gtest.h>

namespace d9d {
namespace {

// Not slower than a loop of scalars, not faster than the largest GPU.
TEST(MatmulRate, IsOneThatAHostCanHaveAndLeavesTheCallersThreads) {
  const int before = at::get_num_threads();
  for (const at::ScalarType type : {at::kFloat, at::kBFloat16}) {
    const double rate = kernels::matmul_rate(type, 1);
    EXPECT_GT(rate, 1e8) << type;
    EXPECT_LT(rate, 1e16) << type;
  }
  EXPECT_EQ(at::get_num_threads(), before);
}

TEST(MatmulRate, OfWhatIsNotMultipliedHereIsRefused) {
  EXPECT_THROW(kernels::matmul_rate(at::kLong, 1), c10::Error);
}

}  // namespace
}  // namespace d9d
