#include "runtime/device/delayed/aliases.hpp"

#include <ATen/ops/ones.h>
#include <ATen/ops/scalar_tensor.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/device/device.hpp"

namespace d9d::delayed {
namespace {

TEST(DelayedAliases, ShareStoragesAsTheirTensorsDo) {
  const at::Device device = delayed_device(0)->place();
  const at::Tensor whole = at::ones({4, 6}, device), part = whole.narrow(1, 2, 3),
                   other = at::ones({2}, device);

  Aliases aliases;
  const at::Tensor a = aliases.of(whole, "test"), b = aliases.of(part, "test"), c = aliases.of(other, "test");

  EXPECT_TRUE(a.is_cpu());
  EXPECT_TRUE(a.is_alias_of(b));
  EXPECT_FALSE(a.is_alias_of(c));
  EXPECT_EQ(b.strides(), part.strides());
  EXPECT_EQ(b.storage_offset(), 2);
  EXPECT_EQ(other.use_count(), 1) << "an alias holds no memory";
}

TEST(DelayedAliases, CopyNumbersAndRefuseOtherTensorsOfTheCpu) {
  at::Tensor number = at::scalar_tensor(3.0);
  Aliases aliases;

  const at::Tensor copy = aliases.of(number, "test");
  number.fill_(4);

  EXPECT_EQ(copy.item<double>(), 3);
  EXPECT_FALSE(aliases.of(at::Tensor(), "test").defined());
  try {
    aliases.of(at::ones({2}), "silu_mul");
    FAIL() << "took a tensor of the CPU";
  } catch (const c10::Error& error) {
    EXPECT_THAT(error.what_without_backtrace(), testing::HasSubstr("silu_mul got a tensor of cpu"));
  }
}

TEST(DelayedAliases, AreMadeInsideOfLists) {
  const at::Device device = delayed_device(0)->place();
  const c10::List<std::optional<at::Tensor>> list{std::nullopt, at::ones({2}, device)};

  const c10::IValue mapped = Aliases().of(c10::IValue(list), "test");

  EXPECT_TRUE(mapped.toListRef()[0].isNone());
  EXPECT_TRUE(mapped.toListRef()[1].toTensor().is_cpu());
}

}  // namespace
}  // namespace d9d::delayed
