// Decays of recurrent heads against the CPU's.
#include "tests/kernels/cuda/same_as_cpu.hpp"
#include "tests/support/gradcheck.hpp"

namespace d9d::test {
namespace {

using kernels::OpTable;

// Far on either side of where softplus bends.
at::Tensor gates(at::ScalarType dtype) {
  return values({2, 9, 5}, 0, dtype).mul(30);
}

TEST_F(CudaOps, SmallDecaysEqualTheCpus) {
  for (const auto dtype : {at::kFloat, at::kBFloat16})
    expect_same_as_cpu(&OpTable::decay_gate, 1, gates(dtype), values({5}, 1, dtype), values({5}, 2, dtype));
}

TEST_F(CudaOps, SmallDecaysGradientsEqualTheCpus) {
  for (const auto dtype : {at::kFloat, at::kBFloat16}) {
    const at::Tensor grad = values({2, 9, 5}, 3, at::kFloat);
    expect_same_as_cpu(&OpTable::decay_gate_backward, 2, grad, gates(dtype), values({5}, 1, dtype),
                       values({5}, 2, dtype));
  }
}

}  // namespace
}  // namespace d9d::test
