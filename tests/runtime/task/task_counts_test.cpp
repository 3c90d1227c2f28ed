#include "runtime/task/task_counts.hpp"

#include <gtest/gtest.h>

#include <thread>

#include "runtime/metric/aggregation.hpp"

namespace d9d {
namespace {

TEST(TaskCounts, AddUpFromAnyThreadAndAreTakenOnce) {
  TaskCounts counts(
      [](Compose& metrics) { metrics.add("calls", std::make_unique<Accumulator>(ReduceOp::sum)); });
  EXPECT_TRUE(counts.take().empty());
  const auto call = [&] {
    for (int i = 0; i < 1000; ++i)
      counts.update([](Compose& metrics) { metrics.get<Accumulator>("calls").update(1); });
  };

  std::thread other(call);
  call();
  other.join();

  EXPECT_EQ(counts.take(), std::vector<double>{2000});
  EXPECT_TRUE(counts.take().empty());
}

}  // namespace
}  // namespace d9d
