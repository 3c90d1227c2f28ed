// node_test runs all of them on a device without memory, and a delayed device compares each with what its op gave.
#include "kernels/result_shapes.hpp"

#include <ATen/ops/empty.h>
#include <ATen/ops/ones.h>
#include <gtest/gtest.h>

#include "kernels/ops/every_op.hpp"
#include "kernels/run_op.hpp"

namespace d9d::kernels {
namespace {

TEST(ResultShapes, AreThereForEveryOpButTheOneThatGivesANumber) {
  for_each_op([]<auto op>() {
    const std::string name = (op_detail::names.*op).name();
    const bool gives_number = name == "uniform_value";
    EXPECT_EQ((result_shapes().*op).function() == nullptr, gives_number) << name;
  });
}

TEST(ResultShapes, AreOnTheDeviceAndInTheDtypeOfTheirInputs) {
  const at::Tensor x = at::empty({5, 8}, at::TensorOptions(at::kMeta).dtype(at::kBFloat16));

  const Normed normed = (result_shapes().*(&OpTable::rms_norm)).function()(x, {}, x[0], 1e-6, 0);

  EXPECT_TRUE(normed.normed.is_meta());
  EXPECT_EQ(normed.normed.scalar_type(), at::kBFloat16);
  EXPECT_EQ(normed.inverse.sizes(), at::IntArrayRef({5}));
  EXPECT_EQ(normed.inverse.scalar_type(), at::kFloat);
  EXPECT_FALSE(normed.sum.defined());
}

}  // namespace
}  // namespace d9d::kernels
