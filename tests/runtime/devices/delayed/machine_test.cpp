// Orders of work: what a stream promises, what two streams do not, and that a seed repeats it.
#include "runtime/devices/delayed/machine.hpp"

#include <gtest/gtest.h>

#include <set>
#include <stdexcept>
#include <string>

#include "runtime/device/work_name.hpp"
#include "tests/support/error_of.hpp"

namespace d9d::delayed {
namespace {

// Two streams note what they do; `event` makes the second wait for the first.
std::string order_of(std::uint64_t seed, bool event) {
  static Machine machine(7, 0);
  machine.reseed(seed);
  std::string order;
  const auto note = [&order](char what) { return [&order, what] { order.push_back(what); }; };
  for (const char what : {'a', 'b', 'c'}) machine.enqueue(0, note(what));
  if (event) machine.wait_for(1, machine.record(0));
  for (const char what : {'x', 'y', 'z'}) machine.enqueue(1, note(what));
  machine.reach(*machine.record(0));
  machine.reach(*machine.record(1));
  return order;
}

TEST(DelayedMachine, RunsNothingBeforeSomebodyWaits) {
  Machine machine(7, 3);
  int runs = 0;

  for (int i = 0; i < 4; ++i) machine.enqueue(0, [&] { ++runs; });
  const int before = runs;
  machine.reach(*machine.record(0));

  EXPECT_LT(before, 4);
  EXPECT_EQ(runs, 4);
}

TEST(DelayedMachine, KeepsTheOrderOfAStream) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    std::string order = order_of(seed, false);
    std::erase_if(order, [](char what) { return what >= 'x'; });
    EXPECT_EQ(order, "abc") << "seed " << seed;
  }
}

TEST(DelayedMachine, MixesStreamsThatNoEventBindsAndRepeatsASeed) {
  std::set<std::string> orders;

  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    orders.insert(order_of(seed, false));
    EXPECT_EQ(order_of(seed, false), order_of(seed, false)) << "seed " << seed;
  }

  EXPECT_GT(orders.size(), 5);
  EXPECT_TRUE(orders.contains("abcxyz"));
}

TEST(DelayedMachine, KeepsTheOrderThatAnEventAsksFor) {
  for (std::uint64_t seed = 0; seed < 50; ++seed)
    EXPECT_EQ(order_of(seed, true), "abcxyz") << "seed " << seed;
}

TEST(DelayedMachine, RunsWhatAnotherDevicesEventWaitsFor) {
  Machine one(6, 1), other(7, 1);
  std::string order;
  other.enqueue(2, [&] { order += "other "; });
  one.wait_for(0, other.record(2));
  one.enqueue(0, [&] { order += "one"; });

  one.reach(*one.record(0));

  EXPECT_EQ(order, "other one");
}

std::string error_of(Machine& machine, int stream) {
  return test::error_of<std::exception>([&] { machine.reach(*machine.record(stream)); });
}

TEST(DelayedMachine, NamesTheOpThatFailedAndWhereItWasGiven) {
  Machine machine(7, 1);
  {
    const WorkName action("2F3");
    machine.enqueue(1, {"copy_", {}}, [] { throw std::runtime_error("no such row"); });
  }
  const std::string error = error_of(machine, 1);

  EXPECT_EQ(error, "copy_ on delayed:7 communicate in 2F3: no such row");
}

// What has nothing to do with a failure runs, and its host hears nothing.
TEST(DelayedMachine, SkipsOnlyWhatComesBehindAFailure) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Machine machine(7, seed), other(6, seed);
    int beside = 0, behind = 0;
    machine.enqueue(1, [] { throw std::runtime_error("no such row"); });
    machine.enqueue(0, [&] { ++beside; });
    machine.wait_for(2, machine.record(1));
    machine.enqueue(2, [&] { ++behind; });
    other.wait_for(0, machine.record(2));
    other.enqueue(0, [&] { ++behind; });

    EXPECT_EQ(error_of(machine, 0), "no error");
    EXPECT_NE(error_of(machine, 2), "no error");
    EXPECT_EQ(error_of(machine, 1), "no error") << "it was told";
    EXPECT_NE(error_of(other, 0), "no error") << "another device's host hears of it, too";
    machine.enqueue(1, [&] { ++beside; });
    machine.reach(*machine.record(1));

    EXPECT_EQ(beside, 2);
    EXPECT_EQ(behind, 0);
  }
}

TEST(DelayedMachine, TellsTheHostThatWaitsOfAFailureOnce) {
  Machine machine(7, 1);
  bool ran = false;
  machine.enqueue(0, [] { throw std::runtime_error("no such row"); });
  machine.enqueue(0, [&] { ran = true; });

  EXPECT_THROW(machine.reach(*machine.record(0)), std::runtime_error);
  machine.reach(*machine.record(0));

  EXPECT_FALSE(ran) << "it came behind the failure";
}

TEST(DelayedMachine, LimitsHowMuchIsPending) {
  Machine machine(7, 1);
  int runs = 0;

  for (int i = 0; i < 6000; ++i) machine.enqueue(i % 2, [&] { ++runs; });

  EXPECT_GT(runs, 1900);
  machine.reach(*machine.record(0));
  machine.reach(*machine.record(1));
  EXPECT_EQ(runs, 6000);
}

}  // namespace
}  // namespace d9d::delayed
