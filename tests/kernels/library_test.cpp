#include "kernels/library.hpp"

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/ops/silu.h>
#include <gtest/gtest.h>

#include "tests/support/gradcheck.hpp"

using d9d::test::values;

TEST(OperatorLibrary, GivesTheOpsTheirNamesAsLongAsItLives) {
  const auto find = [] { return c10::Dispatcher::singleton().findSchema({"d9d::silu_mul", ""}); };
  {
    const d9d::kernels::OperatorLibrary library;
    const auto op = find();
    ASSERT_TRUE(op.has_value());
    const auto gate = values({3, 5}, 1, at::kFloat).requires_grad_(true), up = values({3, 5}, 2, at::kFloat);

    const auto product = op->typed<at::Tensor(const at::Tensor&, const at::Tensor&)>().call(gate, up);

    d9d::test::expect_close(product.detach(), at::silu(gate.detach()) * up, 1e-6, "product");
    EXPECT_TRUE(product.requires_grad());
  }
  EXPECT_FALSE(find().has_value());
}
