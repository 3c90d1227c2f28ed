// Memory that is freed, used again, and touched by those who may not.
#include "runtime/devices/delayed/memory.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "runtime/devices/delayed/machine.hpp"
#include "tests/support/error_of.hpp"

namespace d9d::delayed {
namespace {

float* floats(const c10::DataPtr& data) {
  return static_cast<float*>(data.get());
}

TEST(DelayedMemory, HasALimitOfWhatIsInUse) {
  constexpr std::size_t limit = 64 << 10;
  Machine machine(7, 1, limit);
  c10::DataPtr most = machine.allocate(60 << 10, 0);

  EXPECT_THAT(test::error_of<c10::OutOfMemoryError>([&] { machine.allocate(8 << 10, 0); }),
              testing::HasSubstr("is out of memory: "));
  EXPECT_EQ(machine.memory().pools().free, 4U << 10);
  EXPECT_EQ(machine.memory().pools().limit, limit);
  most.clear();
  EXPECT_NO_THROW(machine.allocate(64 << 10, 1)) << "of another stream, what was freed is free";
}

TEST(DelayedMemory, IsPoisonedAgainWhereItsPagesWentBackToTheSystem) {
  constexpr std::size_t bytes = 1 << 20;
  Machine machine(7, 1);
  const void* const first = machine.allocate(bytes, 0).get();
  machine.trim();

  const c10::DataPtr again = machine.allocate(bytes, 0);

  ASSERT_EQ(again.get(), first);
  machine.run_behind(0, [&] {
    EXPECT_TRUE(std::isnan(floats(again)[0]));
    EXPECT_TRUE(std::isnan(floats(again)[bytes / 8]));
  });
}

TEST(DelayedMemory, IsPoisonedWhenItIsFreed) {
  Machine machine(7, 1);
  c10::DataPtr data = machine.allocate(64, 0);
  float* const there = floats(data);
  float before = 0, after = 0;
  machine.enqueue(0, [=] { *there = 3; });
  machine.enqueue(0, [=, &before] { before = *there; });

  data.clear();
  machine.run_behind(0, [&] { after = *there; });

  EXPECT_EQ(before, 3);
  EXPECT_TRUE(std::isnan(after));
}

TEST(DelayedMemory, IsUsedAgainInTheOrderOfItsStream) {
  Machine machine(7, 1);
  c10::DataPtr first = machine.allocate(1000, 0);
  void* const place = first.get();
  first.clear();

  const c10::DataPtr again = machine.allocate(900, 0), elsewhere = machine.allocate(900, 1);

  EXPECT_EQ(again.get(), place);
  EXPECT_NE(elsewhere.get(), place);
  float value = 0;
  machine.enqueue(0, [there = floats(again)] { *there = 5; });
  machine.run_behind(0, [&] { value = *floats(again); });
  EXPECT_EQ(value, 5);
}

// The second stream reads what the first has freed: a NaN, unless it was told of the use.
float read_by_another_stream(bool told, std::uint64_t seed) {
  Machine machine(7, seed);
  c10::DataPtr data = machine.allocate(64, 0);
  float* const there = floats(data);
  float seen = 0;
  machine.enqueue(0, [=] { *there = 3; });
  machine.wait_for(1, machine.record(0));
  machine.enqueue(1, [=, &seen] { seen = *there; });
  if (told) machine.use(data, 1);
  data.clear();
  machine.reach(*machine.record(0));
  machine.reach(*machine.record(1));
  return seen;
}

TEST(DelayedMemory, IsKeptForAStreamThatSaidThatItUsesIt) {
  int wrong = 0;
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    EXPECT_EQ(read_by_another_stream(true, seed), 3) << "seed " << seed;
    wrong += std::isnan(read_by_another_stream(false, seed)) ? 1 : 0;
  }
  EXPECT_GT(wrong, 10);
}

TEST(DelayedMemory, CountsWhatIsInUse) {
  Machine machine(7, 1);
  {
    const c10::DataPtr one = machine.allocate(512, 0), other = machine.allocate(1, 0);
    EXPECT_EQ(machine.memory().bytes_in_use(), 1024);
  }
  EXPECT_EQ(machine.memory().bytes_in_use(), 0);
  EXPECT_THROW(machine.allocate(std::size_t{1} << 40, 0), c10::OutOfMemoryError);
}

TEST(DelayedMemoryDeathTest, FaultsWhenTheHostTouchesIt) {
  Machine machine(7, 1);
  const c10::DataPtr data = machine.allocate(64, 0);
  machine.enqueue(0, [there = floats(data)] { *there = 3; });
  machine.reach(*machine.record(0));

  EXPECT_DEATH(*floats(data) = 4, "");
}

}  // namespace
}  // namespace d9d::delayed
