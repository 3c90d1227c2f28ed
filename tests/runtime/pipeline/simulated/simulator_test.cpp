#include "runtime/pipeline/simulated/simulator.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "runtime/base/error.hpp"
#include "runtime/pipeline/program/build_program.hpp"
#include "tests/runtime/pipeline/program_text.hpp"
#include "tests/support/error_of.hpp"

namespace d9d {
namespace {

using test::rank_program;

Simulation simulated(const ScheduleConfig& config, int ranks, int microbatches, double transfer = 0) {
  const PipelineProgram program = build_program(config, ranks, microbatches);
  CostModel costs = unit_costs(program.topology);
  costs.transfer = transfer;
  return simulate(program.full, program.topology, costs);
}

// Reference C.8. Bubbles in percent for (p, n) = (4, 8), (8,
// 16), (8, 32), first without, then with transfers of 0.1.
struct Row {
  const char* name;
  ScheduleConfig config;
  double bubble[3];
  double bubble_with_transfer[3];
};

const std::vector<Row>& table() {
  static const std::vector<Row> rows = {
      {"gpipe", GpipeSchedule{}, {27.3, 30.4, 17.9}, {28.6, 31.8, 18.9}},
      {"looped_bfs 2", LoopedBfsSchedule{2}, {15.8, 17.9, 9.9}, {17.5, 19.9, 11.0}},
      {"1f1b 1", OneFOneBSchedule{1, false, Warmup::deep}, {27.3, 30.4, 17.9}, {28.6, 31.8, 18.9}},
      {"1f1b 2", OneFOneBSchedule{2, false, Warmup::deep}, {15.8, 17.9, 9.9}, {19.7, 22.0, 12.3}},
      {"1f1b 1 + ZB", OneFOneBSchedule{1, true}, {11.1, 12.7, 6.8}, {14.9, 17.0, 9.3}},
      {"1f1b 2 + ZB", OneFOneBSchedule{2, true}, {5.9, 6.8, 3.5}, {11.4, 12.9, 6.9}},
      {"zero_bubble_v", ZeroBubbleVSchedule{}, {5.9, 6.8, 3.5}, {10.4, 12.4, 6.6}},
      {"dual_pipe_v", DualPipeVSchedule{}, {5.9, 6.8, 3.5}, {10.4, 13.0, 7.0}},
  };
  return rows;
}

TEST(Simulator, GivesTheBubblesOfTheReference) {
  const std::pair<int, int> meshes[3] = {{4, 8}, {8, 16}, {8, 32}};
  for (const Row& row : table()) {
    for (int i = 0; i < 3; ++i) {
      const auto [ranks, microbatches] = meshes[i];

      EXPECT_NEAR(100 * simulated(row.config, ranks, microbatches).bubble, row.bubble[i], 0.0501)
          << row.name << " p=" << ranks << " n=" << microbatches;
      EXPECT_NEAR(100 * simulated(row.config, ranks, microbatches, 0.1).bubble, row.bubble_with_transfer[i],
                  0.0501)
          << row.name << " p=" << ranks << " n=" << microbatches << " with transfers";
    }
  }
}

TEST(Simulator, CountsActivationsInFlightAsTheReference) {
  const auto at_4_8 = [](const ScheduleConfig& config) { return simulated(config, 4, 8).peak_activations; };
  const auto at_8_32 = [](const ScheduleConfig& config) { return simulated(config, 8, 32).peak_activations; };
  using Peaks = std::vector<int>;

  EXPECT_EQ(at_4_8(GpipeSchedule{}), Peaks(4, 8));
  EXPECT_EQ(at_8_32(LoopedBfsSchedule{2}), Peaks(8, 64));
  EXPECT_EQ(at_4_8(OneFOneBSchedule{1, false, Warmup::deep}), (Peaks{7, 5, 3, 1}));
  EXPECT_EQ(at_8_32(OneFOneBSchedule{1, false, Warmup::deep}), (Peaks{15, 13, 11, 9, 7, 5, 3, 1}));
  EXPECT_EQ(at_4_8(OneFOneBSchedule{2}), (Peaks{11, 9, 7, 5}));
  EXPECT_EQ(at_8_32(OneFOneBSchedule{2}), (Peaks{23, 21, 19, 17, 15, 13, 11, 9}));
  EXPECT_EQ(at_4_8(OneFOneBSchedule{1, true}), (Peaks{4, 3, 2, 1}));
  EXPECT_EQ(at_8_32(OneFOneBSchedule{2, true}), (Peaks{16, 15, 14, 13, 12, 11, 10, 9}));
  EXPECT_EQ(at_4_8(ZeroBubbleVSchedule{}), Peaks(4, 8));
  EXPECT_EQ(at_8_32(ZeroBubbleVSchedule{}), Peaks(8, 16));
  EXPECT_EQ(at_4_8(DualPipeVSchedule{}), Peaks(4, 9));
  EXPECT_EQ(at_8_32(DualPipeVSchedule{}), Peaks(8, 17));
}

// W-58: the textbook warm-up costs no time and halves the memory.
TEST(Simulator, ShowsThatTheTextbookWarmupIsFree) {
  const Simulation textbook = simulated(OneFOneBSchedule{}, 8, 32);
  const Simulation deep = simulated(OneFOneBSchedule{1, false, Warmup::deep}, 8, 32);

  EXPECT_DOUBLE_EQ(textbook.makespan, deep.makespan);
  EXPECT_EQ(textbook.peak_activations, (std::vector<int>{8, 7, 6, 5, 4, 3, 2, 1}));
}

TEST(Simulator, PlacesEveryActionByHand) {
  const Topology topology(TopologyKind::loop, 2, 2);
  const CostModel costs{{{1, 2, 3}, {4, 5, 6}}, 0.5, 0.25};

  const Simulation result = simulate({rank_program("0F0 0B0"), rank_program("1F0 1I0 1W0")}, topology, costs);

  const auto& second = result.ranks[1];
  EXPECT_DOUBLE_EQ(result.ranks[0][0].end, 1.25);
  EXPECT_DOUBLE_EQ(second[0].start, 1.75);
  EXPECT_DOUBLE_EQ(second[0].end, 6);
  EXPECT_DOUBLE_EQ(second[1].end, 11.25);
  EXPECT_DOUBLE_EQ(second[2].end, 17.5);
  EXPECT_DOUBLE_EQ(result.ranks[0][1].start, 11.75);
  EXPECT_DOUBLE_EQ(result.ranks[0][1].end, 17);
  EXPECT_DOUBLE_EQ(result.makespan, 17.5);
  EXPECT_DOUBLE_EQ(result.bubble, 1 - 21.0 / 35);
  EXPECT_EQ(result.peak_pending_weights, (std::vector<int>{0, 1}));
}

// Every dependency holds and no rank does two things at once, whatever the costs.
TEST(Simulator, NeverBreaksADependency) {
  const PipelineProgram program = build_program(DualPipeVSchedule{}, 4, 8);
  CostModel costs = unit_costs(program.topology);
  for (std::size_t stage = 0; stage < costs.stages.size(); ++stage)
    costs.stages[stage].forward += 0.3 * (stage % 3);
  costs.transfer = 0.2;

  const Simulation result = simulate(program.full, program.topology, costs);

  std::map<Action, SimulatedAction> by_action;
  for (const auto& rank : result.ranks) {
    double clock = 0;
    for (const SimulatedAction& a : rank) {
      EXPECT_GE(a.start, clock);
      clock = a.end;
      by_action[a.action] = a;
    }
  }
  for (const auto& [action, a] : by_action) {
    if (action.kind != ActionKind::forward || action.stage == 0) continue;
    const SimulatedAction& before = by_action.at({ActionKind::forward, action.stage - 1, action.microbatch});
    const double transfer = program.topology.same_rank(action.stage, action.stage - 1) ? 0 : 0.2;
    EXPECT_GE(a.start, before.end + transfer - 1e-12);
  }
}

TEST(Simulator, NamesWhatADeadlockWaitsFor) {
  const Topology topology(TopologyKind::loop, 2, 2);

  EXPECT_THAT(test::error_of([&] {
                simulate({rank_program("0B0 0F0"), rank_program("1F0 1B0")}, topology, unit_costs(topology));
              }),
              testing::HasSubstr("rank 0 at 0B0 waits for the B or I of stage 1 microbatch 0"));
}

// How long it takes is tests/bench/planning_cost.hpp.
TEST(Simulator, TakesALargePipeline) {
  const PipelineProgram program = build_program(ZeroBubbleVSchedule{}, 64, 512);

  const Simulation result = simulate(program.compute, program.topology, unit_costs(program.topology));

  EXPECT_EQ(result.ranks[63].size(), 3U * 2 * 512);
}

// p = 8, n = 32, unit costs. Bubbles of the original's programs as fractions (reference C.8), peaks as the
// papers bound them: GPipe n, 1F1B p, interleaved (v - 1) p + 2 (p - 1) + 1, ZB-H1 p, ZB-V 2 p halves,
// DualPipeV 2 p + 1.
TEST(Schedules, HaveNoLargerBubbleThanTheOriginalAndPeaksWithinThePapersBounds) {
  struct Bound {
    ScheduleConfig config;
    double bubble;
    int peak;
  };
  const Bound bounds[] = {
      {GpipeSchedule{}, 7.0 / 39, 32},           {LoopedBfsSchedule{2}, 7.0 / 71, 64},
      {OneFOneBSchedule{1}, 7.0 / 39, 8},        {OneFOneBSchedule{2}, 7.0 / 71, 23},
      {OneFOneBSchedule{1, true}, 7.0 / 103, 8}, {OneFOneBSchedule{2, true}, 3.5 / 99.5, 16},
      {ZeroBubbleVSchedule{}, 3.5 / 99.5, 16},   {DualPipeVSchedule{}, 3.5 / 99.5, 17}};
  for (const Bound& bound : bounds) {
    const Simulation result = simulated(bound.config, 8, 32);

    EXPECT_LE(result.bubble, bound.bubble + 1e-9) << name_of(bound.config);
    for (const int peak : result.peak_activations) EXPECT_LE(peak, bound.peak) << name_of(bound.config);
  }
}

TEST(Simulator, TakesEachBoundaryAndAFullBackwardAtTheirOwnTime) {
  const Topology topology(TopologyKind::loop, 3, 3);
  CostModel costs = unit_costs(topology);
  costs.transfers = {0.5, 2};
  costs.stages[2].full_backward = 1.5;

  const Simulation result =
      simulate({rank_program("0F0 0B0"), rank_program("1F0 1B0"), rank_program("2F0 2B0")}, topology, costs);

  EXPECT_DOUBLE_EQ(result.ranks[2][0].start, 1 + 0.5 + 1 + 2);
  EXPECT_DOUBLE_EQ(result.ranks[2][1].end, 4.5 + 1 + 1.5);
  EXPECT_DOUBLE_EQ(result.ranks[1][1].start, 7 + 2);
  EXPECT_DOUBLE_EQ(result.makespan, 9 + 2 + 0.5 + 2);
  costs.transfers = {0.5};
  EXPECT_THROW(simulate({{}, {}, {}}, topology, costs), Error);
}

TEST(Simulator, OverlapsThePartsOfAComposedInstructionWhenAsked) {
  const Topology topology(TopologyKind::loop, 1, 2);
  CostModel costs = unit_costs(topology);
  costs.stages = {{1, 1, 1}, {1, 2, 2}};
  const Program program = {rank_program("0F0 1F0 0F1|1B0 1F1 1B1 0B0 0B1")};

  const double in_turn = simulate(program, topology, costs).makespan;
  costs.overlap = 0.75;
  const Simulation together = simulate(program, topology, costs);

  EXPECT_DOUBLE_EQ(in_turn, 16);
  EXPECT_DOUBLE_EQ(together.makespan, 16 - 0.75);
  EXPECT_DOUBLE_EQ(together.ranks[0][2].start, together.ranks[0][3].start);
  EXPECT_DOUBLE_EQ(together.bubble, 0);
}

TEST(Simulator, CountsWhatIsHeldUntilTheWeightGradientsAreDone) {
  const Topology topology(TopologyKind::loop, 1, 1);

  const Simulation result =
      simulate({rank_program("0F0 0I0 0F1 0I1 0W0 0F2 0I2 0W1 0W2")}, topology, unit_costs(topology));

  EXPECT_EQ(result.peak_activations, (std::vector<int>{1}));
  EXPECT_EQ(result.peak_pending_weights, (std::vector<int>{2}));
  EXPECT_EQ(result.peak_held, (std::vector<int>{2}));
}

}  // namespace
}  // namespace d9d
