#include "kernels/memory/chosen_rows.hpp"

#include <ATen/ops/empty.h>
#include <ATen/ops/tensor.h>
#include <gtest/gtest.h>

#include "kernels/memory/host_values.hpp"

namespace d9d::kernels {
namespace {

at::Tensor choices_elsewhere() {
  return at::empty({3, 2}, at::TensorOptions(at::kMeta).dtype(at::kLong));
}

TEST(ChosenRows, AreCountedWhereTheHostKnowsTheChoices) {
  const at::Tensor here = at::tensor({0, -1, 3, 4, 2, 9}, at::kLong).view({3, 2}),
                   there = choices_elsewhere();
  keep_host_values(there, here);

  EXPECT_EQ(count_rows(here, 4), 3);
  EXPECT_EQ(count_rows(there, 4), 3);
}

TEST(ChosenRows, AreAsManyAsChoicesUntilTheHostIsToldTheirNumber) {
  const at::Tensor there = choices_elsewhere();
  const int64_t before = count_rows(there, 4);

  keep_count(there, 4, 5);

  EXPECT_EQ(before, 6);
  EXPECT_EQ(count_rows(there, 4), 5);
  EXPECT_EQ(count_rows(there.view({6}), 4), 5);
}

TEST(ChosenRows, KeepNoNumberOfOtherExpertsOtherChoicesOrOldValues) {
  at::Tensor there = choices_elsewhere();
  keep_count(there, 4, 5);

  EXPECT_EQ(count_rows(there, 5), 6) << "other experts";
  EXPECT_EQ(count_rows(there.narrow(0, 0, 2), 4), 4) << "a part of the choices";
  there.add_(1);
  EXPECT_EQ(count_rows(there, 4), 6) << "written to";
  there = at::Tensor();
  EXPECT_EQ(count_rows(choices_elsewhere(), 4), 6) << "freed";
}

TEST(ChosenRows, RefuseANumberThatCannotBe) {
  EXPECT_THROW(keep_count(choices_elsewhere(), 4, 7), c10::Error);
  EXPECT_THROW(keep_count(choices_elsewhere(), 4, -1), c10::Error);
}

}  // namespace
}  // namespace d9d::kernels
