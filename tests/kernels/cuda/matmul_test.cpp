#include "kernels/matmul.hpp"

#include <ATen/ops/allclose.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/full.h>
#include <ATen/ops/sin.h>

#include <limits>

#include "kernels/run_op.hpp"
#include "tests/runtime/devices/cuda/gpu_fixture.hpp"

namespace d9d {
namespace {

using CudaMatmul = test::OnGpu;

at::Tensor ripple(std::int64_t rows, std::int64_t columns, double phase, at::ScalarType dtype) {
  return at::sin(at::arange(rows * columns, at::kDouble).mul(0.61).add(phase))
      .view({rows, columns})
      .to(dtype);
}

// Every mix of types, with factors that are transposed views, into a strided result that was not initialised.
TEST_F(CudaMatmul, SmallProductsEqualThoseOfFloat64) {
  for (const at::ScalarType of_a : {at::kFloat, at::kBFloat16}) {
    for (const at::ScalarType of_b : {at::kFloat, at::kBFloat16}) {
      for (const at::ScalarType of_c : {at::kFloat, at::kBFloat16}) {
        for (const double beta : {0.0, 1.0}) {
          const at::Tensor a = ripple(37, 19, 0, of_a), b = ripple(23, 19, 1, of_b).t();
          const double before = beta == 0 ? std::numeric_limits<double>::quiet_NaN() : 0.5;
          const at::Tensor c =
              at::full({37, 40}, before, at::TensorOptions(of_c).device(at::kCUDA)).narrow(1, 8, 23);

          kernels::run_op(&kernels::OpTable::matmul, c, a.to(at::kCUDA), b.to(at::kCUDA), beta);

          const at::Tensor expected = a.to(at::kDouble).mm(b.to(at::kDouble)).add(beta == 0 ? 0.0 : 0.5);
          const double bound = of_c == at::kFloat ? 1e-5 : 1e-2;
          EXPECT_TRUE(at::allclose(c.cpu().to(at::kDouble), expected, bound, bound))
              << of_a << " " << of_b << " " << of_c << " " << beta;
        }
      }
    }
  }
}

}  // namespace
}  // namespace d9d
