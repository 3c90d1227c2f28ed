// What the dynamic order is worth, in simulation: it never loses, and it wins where delays move about.
#include <gtest/gtest.h>

#include <cstdio>

#include "tests/runtime/pipeline/order/order_bound.hpp"
#include "tests/runtime/pipeline/order/order_simulator.hpp"
#include "tests/runtime/pipeline/order/order_troubles.hpp"

namespace d9d {
namespace {

constexpr int seed_count = 6;

// Means over the seeds of jitter and chance.
struct Steps {
  double fixed = 0, dynamic = 0, bound = 0;

  double ratio() const { return dynamic / fixed; }
};

Steps steps_of(const ScheduleConfig& schedule, const Trouble& trouble, int ranks, double jitter,
               int extra_activations = 0) {
  const auto program = one_lane_program(schedule, ranks, 4 * ranks);
  Steps steps;
  for (std::uint64_t seed = 0; seed < seed_count; ++seed) {
    const OrderCosts costs{troubled_durations(*program, trouble, 1, jitter, seed), 0.002};
    steps.fixed += simulate_order(*program, CursorOrder::static_, costs).makespan / seed_count;
    steps.dynamic +=
        simulate_order(*program, CursorOrder::dynamic, costs, extra_activations).makespan / seed_count;
    steps.bound += order_bound(*program, costs, extra_activations) / seed_count;
  }
  return steps;
}

class OrderPolicy : public ::testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Ranks, OrderPolicy, ::testing::Values(2, 4, 8));

TEST_P(OrderPolicy, NeverLosesHalfAPercentWhoeverIsHeldUp) {
  for (const auto& [name, schedule] : bench_schedules()) {
    for (const Trouble& trouble : order_troubles(GetParam())) {
      for (const double jitter : {0.01, 0.05}) {
        const Steps steps = steps_of(schedule, trouble, GetParam(), jitter);

        EXPECT_LE(steps.ratio(), 1.005) << name << ", " << trouble.name << ", jitter " << jitter;
        EXPECT_LE(steps.bound, std::min(steps.fixed, steps.dynamic) * (1 + 1e-9)) << name;
        if (std::getenv("D9D_PRINT_ORDERS") != nullptr && jitter == 0.01) {
          std::printf("%d | %s | %s | %.2f | %.3f | %.3f\n", GetParam(), name.c_str(), trouble.name.c_str(),
                      steps.fixed, steps.bound / steps.fixed, steps.ratio());
        }
      }
    }
  }
}

// The ranks are held up one after the other.
const Trouble& moving() {
  static const Trouble trouble = order_troubles(4)[1];
  return trouble;
}

TEST(OrderPolicy, WinsWhereDelaysMoveFromRankToRankAndTheProgramHasRoom) {
  const std::pair<ScheduleConfig, double> expected[] = {{OneFOneBSchedule{1, true}, 0.97},
                                                        {OneFOneBSchedule{2, true}, 0.96},
                                                        {ZeroBubbleVSchedule{}, 0.95},
                                                        {DualPipeVSchedule{}, 0.98}};
  for (const auto& [schedule, share] : expected) {
    EXPECT_LT(steps_of(schedule, moving(), 4, 0.01).ratio(), share)
        << name_of(schedule) << " x " << stages_per_rank(schedule);
  }
}

TEST(OrderPolicy, WinsMoreWithRoomForTwoMoreActivations) {
  for (const ScheduleConfig& schedule :
       {ScheduleConfig(OneFOneBSchedule{2}), ScheduleConfig(OneFOneBSchedule{2, true}),
        ScheduleConfig(DualPipeVSchedule{})}) {
    const double with_room = steps_of(schedule, moving(), 4, 0.01, 2).ratio();

    EXPECT_LT(with_room, steps_of(schedule, moving(), 4, 0.01).ratio() - 0.02) << name_of(schedule);
  }
}

TEST(OrderPolicy, WinsAlsoWithOneSlowRankWhereItMayHoldOneMore) {
  const std::vector<Trouble> troubles = order_troubles(4);
  const Trouble& in_every_eighth_microbatch = troubles[3];
  const Trouble& always = troubles[5];

  EXPECT_LT(steps_of(OneFOneBSchedule{}, in_every_eighth_microbatch, 4, 0.01, 1).ratio(), 0.97);
  EXPECT_LT(steps_of(OneFOneBSchedule{}, always, 4, 0.01, 1).ratio(), 0.99);
}

TEST(OrderBound, IsTheSlowRanksOwnWorkBetweenFirstInputAndLastGradient) {
  // Two ranks, one microbatch: F on both, B on both.
  const auto program = one_lane_program(OneFOneBSchedule{}, 2, 1);
  const OrderCosts costs{[](const Action& action) { return action.stage == 1 ? 10.0 : 1.0; }, 0.5};

  EXPECT_DOUBLE_EQ(order_bound(*program, costs), 1 + 0.5 + 20 + 0.5 + 1);
}

TEST(OrderBound, KnowsTheCapsOfAStage) {
  // A rank that may hold one microbatch waits for each
  // gradient: 1F1B on the last but one of two ranks holds two.
  const auto program = one_lane_program(OneFOneBSchedule{}, 2, 8);
  const OrderCosts costs{[](const Action&) { return 1.0; }, 10};

  const double tight = order_bound(*program, costs);

  EXPECT_LT(order_bound(*program, costs, 4), tight) << "four more hide the transfers";
  EXPECT_LE(tight, simulate_order(*program, CursorOrder::static_, costs).makespan);
}

}  // namespace
}  // namespace d9d
