// In every dtype and under every mask the same as the op in fp64.
#include "kernels/cpu/attention_portable.hpp"

#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <array>

#include "kernels/attention/attention_block.hpp"
#include "tests/support/gradcheck.hpp"

namespace d9d::kernels::cpu {
namespace {

double distance(const at::Tensor& got, const at::Tensor& expected) {
  return ((got.to(at::kDouble) - expected).norm() / expected.norm()).item<double>();
}

TEST(AttentionPortable, IsTheSameInEveryDtype) {
  const auto q = test::values({2, 200, 4, 16}, 1), k = test::values({2, 150, 2, 16}, 2),
             v = test::values({2, 150, 2, 16}, 3), grad = test::values({2, 200, 4, 16}, 4);
  for (const AttentionMask& mask : {full_mask, AttentionMask{60, 0, 0}, AttentionMask{60, 7, -5}}) {
    const AttentionBlock whole = attention_block(q, k, v, mask, 0.25, at::kDouble);
    const auto expected = attention_block_backward(grad, q, k, v, whole, mask, 0.25, at::kDouble);
    for (const at::ScalarType dtype : {at::kDouble, at::kFloat, at::kBFloat16}) {
      const auto as = [=](const at::Tensor& x) { return x.to(dtype); };
      const double tolerance = dtype == at::kDouble ? 1e-12 : dtype == at::kFloat ? 1e-5 : 2e-2;

      const AttentionBlock got = attention_portable(as(q), as(k), as(v), mask, 0.25, dtype);
      const auto grads = attention_backward_portable(as(grad), as(q), as(k), as(v), got, mask, 0.25, dtype);

      EXPECT_LT(distance(got.out, whole.out), tolerance);
      EXPECT_LT(distance(got.lse, whole.lse), tolerance);
      EXPECT_LT(distance(grads.dq, expected.dq), tolerance);
      EXPECT_LT(distance(grads.dk, expected.dk), tolerance);
      EXPECT_LT(distance(grads.dv, expected.dv), tolerance);
    }
  }
}

// Documents of 70, 30 and 100 tokens, and of 1, 129 and 70.
at::Tensor two_packings() {
  const at::Tensor starts = at::zeros({2, 200}, at::kLong);
  starts[0].narrow(0, 70, 30).fill_(70);
  starts[0].narrow(0, 100, 100).fill_(100);
  starts[1].narrow(0, 1, 129).fill_(1);
  starts[1].narrow(0, 130, 70).fill_(130);
  return starts;
}

TEST(AttentionPortable, OfPackedDocumentsIsThatOfEachAlone) {
  const auto q = test::values({2, 200, 4, 16}, 1), k = test::values({2, 200, 2, 16}, 2),
             v = test::values({2, 200, 2, 16}, 3), grad = test::values({2, 200, 4, 16}, 4);
  const at::Tensor starts = two_packings();
  for (const AttentionMask& mask : {causal_mask, AttentionMask{40, 0, 0}}) {
    for (const at::ScalarType dtype : {at::kDouble, at::kFloat, at::kBFloat16}) {
      const auto as = [=](const at::Tensor& x) { return x.to(dtype); };
      const double tolerance = dtype == at::kDouble ? 1e-12 : dtype == at::kFloat ? 1e-5 : 2e-2;
      const AttentionBlock got = attention_portable(as(q), as(k), as(v), mask, 0.25, dtype, {starts});
      const auto grads =
          attention_backward_portable(as(grad), as(q), as(k), as(v), got, mask, 0.25, dtype, {starts});
      for (const auto& [row, first, count] :
           {std::array{0, 0, 70}, {0, 70, 30}, {0, 100, 100}, {1, 1, 129}, {1, 130, 70}}) {
        const auto alone = [&, row = row, first = first, count = count](const at::Tensor& x) {
          return x.narrow(0, row, 1).narrow(1, first, count);
        };
        const AttentionBlock whole = attention_block(alone(q), alone(k), alone(v), mask, 0.25, at::kDouble);
        const auto expected = attention_block_backward(alone(grad), alone(q), alone(k), alone(v), whole, mask,
                                                       0.25, at::kDouble);

        EXPECT_LT(distance(alone(got.out), whole.out), tolerance);
        EXPECT_LT(distance(alone(grads.dq), expected.dq), tolerance);
        EXPECT_LT(distance(alone(grads.dk), expected.dk), tolerance);
        EXPECT_LT(distance(alone(grads.dv), expected.dv), tolerance);
      }
    }
  }
}

}  // namespace
}  // namespace d9d::kernels::cpu
