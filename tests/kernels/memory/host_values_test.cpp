#include "kernels/memory/host_values.hpp"

#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <gtest/gtest.h>

namespace d9d::kernels {
namespace {

at::Tensor meta(at::IntArrayRef sizes) {
  return at::empty(sizes, at::TensorOptions(at::kMeta).dtype(at::kLong));
}

TEST(HostValues, OfViewsAreThoseOfTheWhole) {
  const at::Tensor here = at::arange(12).view({3, 4}), there = meta({3, 4});
  keep_host_values(there, here);

  EXPECT_TRUE(host_values(there).equal(here));
  EXPECT_TRUE(host_values(there.narrow(1, 1, 2).t()).equal(here.narrow(1, 1, 2).t()));
  EXPECT_TRUE(fetch_host_values(there.flatten()).equal(here.flatten()));
}

TEST(HostValues, OfTheCpuAreTheTensorItself) {
  const at::Tensor here = at::arange(3);

  EXPECT_TRUE(host_values(here).is_same(here));
}

TEST(HostValues, AreForgottenWhenTheTensorIsWrittenToOrFreed) {
  const at::Tensor here = at::arange(3);
  at::Tensor there = meta({3});
  keep_host_values(there, here);
  const bool kept = host_values(there).defined();

  there.add_(1);
  EXPECT_TRUE(kept);
  EXPECT_FALSE(host_values(there).defined());
  EXPECT_FALSE(host_values(meta({3})).defined()) << "of a tensor that nobody uploaded";

  keep_host_values(there, here);
  there = at::Tensor();
  keep_host_values(meta({3}), at::arange(3));
  EXPECT_EQ(here.use_count(), 1U) << "the freed tensor's values are still held";
}

TEST(HostValues, RefuseTensorsOfAnotherShape) {
  EXPECT_THROW(keep_host_values(meta({4}), at::arange(3)), c10::Error);
}

}  // namespace
}  // namespace d9d::kernels
