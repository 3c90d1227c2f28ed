// The gates of recurrent heads against the CPU's.
#include "tests/kernels/cuda/same_as_cpu.hpp"
#include "tests/support/gradcheck.hpp"

namespace d9d::test {
namespace {

using kernels::OpTable;

constexpr int64_t key_heads = 3, group = 2, heads = key_heads * group;

// Far on either side of where softplus bends; more tokens than a block sums.
at::Tensor gates(at::ScalarType dtype) {
  return values({2, 70, key_heads, 2 * group}, 0, dtype).mul(30);
}

// With the parameters of a decay, and without.
template <class F>
void for_kinds(F&& f) {
  for (const auto dtype : {at::kFloat, at::kBFloat16}) {
    f(dtype, values({heads}, 1, dtype), values({heads}, 2, dtype), 1.0);
    f(dtype, at::Tensor(), at::Tensor(), 16.0);
  }
}

TEST_F(CudaOps, SmallGatesEqualTheCpus) {
  for_kinds([](at::ScalarType dtype, const at::Tensor& rate, const at::Tensor& bias, double normalizer) {
    expect_same_as_cpu(&OpTable::delta_gates, 1, gates(dtype), rate, bias, normalizer);
  });
}

TEST_F(CudaOps, SmallGatesGradientsEqualTheCpus) {
  for_kinds([](at::ScalarType dtype, const at::Tensor& rate, const at::Tensor& bias, double normalizer) {
    const at::Tensor ddecay = values({2, 70, heads}, 3, at::kFloat),
                     dbeta = values({2, 70, heads}, 4, at::kFloat);
    const at::Tensor beta = values({2, 70, heads}, 5, at::kFloat).sigmoid();
    expect_same_as_cpu(&OpTable::delta_gates_backward, 4, ddecay, dbeta, gates(dtype), beta, rate, bias,
                       normalizer);
  });
}

TEST_F(CudaOps, SmallGatesOfNoTokensAreEmpty) {
  expect_same_as_cpu(&OpTable::delta_gates, 1, at::zeros({2, 0, key_heads, 2 * group}, at::kFloat),
                     values({heads}, 1, at::kFloat), values({heads}, 2, at::kFloat), 1.0);
}

}  // namespace
}  // namespace d9d::test
