// What a library need not have written is not read.
#include "kernels/cuda/moe/expert_gradients.hpp"

#include <ATen/ops/full.h>
#include <ATen/ops/tensor.h>

#include <limits>

#include "kernels/cuda/unwrap.hpp"
#include "tests/kernels/cuda/same_as_cpu.hpp"
#include "tests/support/gradcheck.hpp"

namespace d9d::test {
namespace {

// Of capability 10 ATen's grouped product leaves the slices of experts without rows as they were.
TEST_F(CudaOps, SmallGradientsOfExpertsWithoutRowsAreZeroOrStay) {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  const at::Tensor offsets = at::tensor({0, 0, 5, 5, 6}, at::kLong), ends = offsets.slice(0, 1);
  const at::Tensor is_empty = ends.eq(offsets.slice(0, 0, 4)).view({4, 1, 1});
  for (const int64_t width : {5, 16}) {
    const at::Tensor sums = values({4, 3, width}, 0, at::kBFloat16).masked_fill(is_empty, nan);
    for (const auto dtype : {at::kFloat, at::kBFloat16}) {
      for (const bool adds : {false, true}) {
        const at::Tensor before =
            adds ? values({4, 3, width}, 1, dtype) : at::full({4, 3, width}, nan, dtype);
        const at::Tensor into = there(before), written = there(sums), where = there(offsets);

        cuda::check_launch(cuda::expert_gradients({.type = cuda::type_of(into),
                                                   .experts = 4,
                                                   .elements = 3 * width,
                                                   .offsets = where.const_data_ptr<int64_t>(),
                                                   .sums = written.const_data_ptr(),
                                                   .into = into.data_ptr(),
                                                   .adds = adds},
                                                  nullptr),
                           "expert_gradients");

        const at::Tensor gradient = sums.to(at::kDouble).masked_fill(is_empty, 0);
        const at::Tensor expected = adds ? before.to(at::kDouble).add(gradient) : gradient;
        EXPECT_TRUE(same_bits(into, expected.to(dtype))) << dtype << " " << width << " " << adds;
      }
    }
  }
}

}  // namespace
}  // namespace d9d::test
