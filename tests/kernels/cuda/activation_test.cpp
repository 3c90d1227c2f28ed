// Gated activations against the CPU's.
#include "tests/kernels/cuda/same_as_cpu.hpp"
#include "tests/support/gradcheck.hpp"

namespace d9d::test {
namespace {

using kernels::OpTable;

// Halves of rows, as linear_multi gives them, and dense ones.
TEST_F(CudaOps, SmallGatedActivationsEqualTheCpus) {
  for (const auto dtype : {at::kFloat, at::kBFloat16}) {
    for (const auto& [rows, width] :
         {std::pair<int64_t, int64_t>{70, 33}, {5, 64}, {1, 1}, {0, 8}, {3, 2056}}) {
      const at::Tensor both = values({rows, 2 * width}, 0, dtype).mul(6);
      const at::Tensor gate = both.narrow(1, 0, width), up = both.narrow(1, width, width);
      const at::Tensor dout = values({rows, width}, 1, dtype);
      expect_same_as_cpu(&OpTable::silu_mul, 1, gate, up);
      expect_same_as_cpu(&OpTable::gelu_mul, 1, gate, up);
      expect_same_as_cpu(&OpTable::gelu_erf_mul, 1, gate, up);
      expect_same_as_cpu(&OpTable::gelu_erf_mul_backward, 1, dout, gate, up);
      expect_same_as_cpu(&OpTable::silu_mul_backward, 1, dout, gate, up);
      expect_same_as_cpu(&OpTable::gelu_mul_backward, 1, dout, gate, up);
    }
  }
}

}  // namespace
}  // namespace d9d::test
