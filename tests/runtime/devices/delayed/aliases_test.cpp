#include "runtime/devices/delayed/aliases.hpp"

#include <ATen/ops/ones.h>
#include <ATen/ops/scalar_tensor.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/device/device.hpp"
#include "runtime/devices/delayed/delayed_device.hpp"
#include "tests/support/error_of.hpp"

namespace d9d::delayed {
namespace {

TEST(DelayedAliases, ShareStoragesAsTheirTensorsDo) {
  const at::Device device = delayed_device(0)->place();
  const at::Tensor whole = at::ones({4, 6}, device), part = whole.narrow(1, 2, 3),
                   other = at::ones({2}, device);

  Aliases aliases("test");
  const at::Tensor a = aliases.of(whole), b = aliases.of(part), c = aliases.of(other);

  EXPECT_TRUE(a.is_cpu());
  EXPECT_TRUE(a.is_alias_of(b));
  EXPECT_FALSE(a.is_alias_of(c));
  EXPECT_EQ(b.strides(), part.strides());
  EXPECT_EQ(b.storage_offset(), 2);
  EXPECT_EQ(other.use_count(), 1) << "an alias holds no memory";
}

TEST(DelayedAliases, CopyNumbersAndRefuseOtherTensorsOfTheCpu) {
  at::Tensor number = at::scalar_tensor(3.0);
  Aliases aliases("silu_mul");

  const at::Tensor copy = aliases.of(number);
  number.fill_(4);

  EXPECT_EQ(copy.item<double>(), 3);
  EXPECT_FALSE(aliases.of(at::Tensor()).defined());
  EXPECT_THAT(test::error_of<c10::Error>([&] { aliases.of(at::ones({2})); }),
              testing::HasSubstr("silu_mul got a tensor of cpu"));
}

TEST(DelayedAliases, AreMadeInsideOfLists) {
  const at::Device device = delayed_device(0)->place();
  const c10::List<std::optional<at::Tensor>> list{std::nullopt, at::ones({2}, device)};

  const c10::IValue mapped = Aliases("test").of(c10::IValue(list));

  EXPECT_TRUE(mapped.toListRef()[0].isNone());
  EXPECT_TRUE(mapped.toListRef()[1].toTensor().is_cpu());
}

// From the first element to the last, with what is between them.
TEST(DelayedAliases, NoteWhichBytesAnOpReadsAndWrites) {
  const at::Device device = delayed_device(0)->place();
  const at::Tensor whole = at::ones({4, 6}, device), column = whole.narrow(1, 2, 1);
  Aliases aliases("test");

  aliases.of(whole);
  aliases.into(column);
  aliases.of(whole.narrow(0, 0, 0));

  const std::vector<Touch>& memory = aliases.touched().memory;
  ASSERT_EQ(memory.size(), 2U) << "a tensor without elements is touched by nobody";
  EXPECT_EQ(memory[0].end - memory[0].begin, 4 * 6 * sizeof(float));
  EXPECT_FALSE(memory[0].writes);
  EXPECT_EQ(memory[1].begin - memory[0].begin, 2 * sizeof(float));
  EXPECT_EQ(memory[1].end - memory[1].begin, (3 * 6 + 1) * sizeof(float));
  EXPECT_TRUE(memory[1].writes);
}

}  // namespace
}  // namespace d9d::delayed
