#include "runtime/state/mapper/mean_rows.hpp"

#include <ATen/ops/equal.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/tensor.h>
#include <gmock/gmock.h>

#include "runtime/base/error.hpp"
#include "tests/runtime/state/expect.hpp"

namespace d9d {
namespace {

TEST(MeanRows, StandBehindTheRowsThatThereAre) {
  const at::Tensor rows = at::tensor({1.0F, 2.0F, 3.0F, 6.0F}).view({2, 2});

  const TensorMap made = mean_rows("a", 4)->apply({{"a", rows}});

  EXPECT_TRUE(
      at::equal(made.at("a"), at::tensor({1.0F, 2.0F, 3.0F, 6.0F, 2.0F, 4.0F, 2.0F, 4.0F}).view({4, 2})));
  EXPECT_TRUE(at::equal(mean_rows("a", 2)->apply({{"a", rows}}).at("a"), rows));
}

// 4096 ones: a sum in bfloat16 would end at 256.
TEST(MeanRows, AreSummedInFloat32) {
  const at::Tensor rows = at::ones({4096, 2}, at::kBFloat16);

  const at::Tensor made = mean_rows("a", 4097)->apply({{"a", rows}}).at("a");

  EXPECT_EQ(made.scalar_type(), at::kBFloat16);
  EXPECT_TRUE(at::equal(made[4096], at::ones({2}, at::kBFloat16)));
}

TEST(MeanRows, DoNotMakeATensorSmaller) {
  EXPECT_THAT(test::error_of([] {
                mean_rows("a", 1)->apply({{"a", at::ones({2, 2})}});
              }),
              testing::HasSubstr("\"a\" has 2 rows, more than the 1 that it is to have"));
}

}  // namespace
}  // namespace d9d
