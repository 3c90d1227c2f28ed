#include "runtime/pipeline/order/dynamic_cursor.hpp"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

#include "runtime/base/error.hpp"
#include "tests/runtime/pipeline/order/order_simulator.hpp"
#include "tests/runtime/pipeline/program_text.hpp"

namespace d9d {
namespace {

using test::rank_program;
using test::text_of;

std::shared_ptr<const PipelineProgram> dynamic_program(const ScheduleConfig& config, int ranks,
                                                       int microbatches) {
  return std::make_shared<const PipelineProgram>(build_program(config, ranks, microbatches));
}

std::vector<ScheduleConfig> dynamic_schedules() {
  std::vector<ScheduleConfig> all = {InferenceSchedule{}, GpipeSchedule{}, ZeroBubbleVSchedule{},
                                     DualPipeVSchedule{}};
  for (const int stages : {1, 2, 3}) {
    all.push_back(LoopedBfsSchedule{stages});
    all.push_back(OneFOneBSchedule{stages});
    all.push_back(OneFOneBSchedule{stages, false, Warmup::deep});
    all.push_back(OneFOneBSchedule{stages, true});
  }
  return all;
}

std::string name_of_case(const ScheduleConfig& config, int ranks, int microbatches) {
  return fmt::format("{} x {}, p={} n={}", name_of(config), stages_per_rank(config), ranks, microbatches);
}

// The schedules that take this many microbatches.
template <class Call>
void for_each_program(Call&& call) {
  for (const ScheduleConfig& config : dynamic_schedules()) {
    for (const int ranks : {1, 2, 4}) {
      for (const int microbatches : {1, 2, 3, 8, 12}) {
        std::shared_ptr<const PipelineProgram> program;
        try {
          program = dynamic_program(config, ranks, microbatches);
        } catch (const Error&) {
          continue;  // the schedule refuses this number
        }
        SCOPED_TRACE(name_of_case(config, ranks, microbatches));
        call(*program);
      }
    }
  }
}

// Every action costs its own random time between almost nothing and six units.
std::function<double(const Action&)> random_durations(int seed) {
  return [seed](const Action& action) {
    std::seed_seq keys{seed, static_cast<int>(action.kind), action.stage, action.microbatch};
    std::mt19937 engine(keys);
    return std::uniform_real_distribution<double>(0.01, 6)(engine);
  };
}

bool is_input_gradient(ActionKind kind) {
  return kind == ActionKind::backward || kind == ActionKind::backward_input;
}
bool is_weight_gradient(ActionKind kind) {
  return kind == ActionKind::backward || kind == ActionKind::backward_weight;
}

// What the law of the dynamic order speaks of, of one stage.
struct StageHistory {
  std::vector<Action> forwards, inputs, weights;
  std::size_t live = 0, held = 0, pending = 0;  // the most at any time

  void add(const Action& action) {
    if (action.kind == ActionKind::forward) forwards.push_back(action);
    if (is_input_gradient(action.kind)) inputs.push_back(action);
    if (is_weight_gradient(action.kind)) weights.push_back(action);
    live = std::max(live, forwards.size() - inputs.size());
    held = std::max(held, forwards.size() - weights.size());
    pending = std::max(pending, inputs.size() - weights.size());
  }
};

std::map<int, StageHistory> histories_of(const Program& program) {
  std::map<int, StageHistory> stages;
  for (const RankProgram& rank : program) {
    for (const Instruction& instruction : rank) {
      for (const Action& action : instruction.parts) stages[action.stage].add(action);
    }
  }
  return stages;
}

std::map<int, StageHistory> histories_of(const Simulation& simulation) {
  std::map<int, StageHistory> stages;
  for (const auto& rank : simulation.ranks) {
    for (const SimulatedAction& simulated : rank) stages[simulated.action.stage].add(simulated.action);
  }
  return stages;
}

TEST(DynamicCursor, RunsEverythingOnceInTheOrderOfEachSumUnderTheCapsWhateverTheTimes) {
  for_each_program([](const PipelineProgram& program) {
    const auto expected = histories_of(program.compute);
    for (int seed = 0; seed < 4; ++seed) {
      const OrderCosts costs{random_durations(seed), seed % 2 == 0 ? 0 : 0.7};

      const auto stages = histories_of(simulate_order(program, CursorOrder::dynamic, costs));

      for (const auto& [stage, fixed] : expected) {
        const StageHistory& got = stages.at(stage);
        ASSERT_EQ(got.forwards, fixed.forwards) << "stage " << stage << " seed " << seed;
        ASSERT_EQ(got.inputs, fixed.inputs) << "stage " << stage << " seed " << seed;
        ASSERT_EQ(got.weights, fixed.weights) << "stage " << stage << " seed " << seed;
        ASSERT_LE(got.live, fixed.live) << "stage " << stage << " seed " << seed;
        ASSERT_LE(got.held, fixed.held) << "stage " << stage << " seed " << seed;
        ASSERT_LE(got.pending, fixed.pending) << "stage " << stage << " seed " << seed;
      }
    }
  });
}

TEST(DynamicCursor, LetsNoRankHoldMoreThanItsProgramDoesOrThanItIsGivenMore) {
  for_each_program([](const PipelineProgram& composed) {
    const auto program = parts_apart(std::make_shared<const PipelineProgram>(composed));
    const auto even = unit_costs(program->topology);
    const Simulation fixed =
        simulate(program->compute, program->topology, {std::vector<StageCosts>(even.stages.size()), 0, 0});
    for (int seed = 0; seed < 6; ++seed) {
      const int extra = seed / 2;
      const OrderCosts costs{random_durations(seed), 0.1};

      const Simulation got = simulate_order(*program, CursorOrder::dynamic, costs, extra);

      for (std::size_t rank = 0; rank < fixed.ranks.size(); ++rank) {
        ASSERT_LE(got.peak_activations[rank], fixed.peak_activations[rank] + extra) << "rank " << rank;
        ASSERT_LE(got.peak_held[rank], fixed.peak_held[rank] + extra) << "rank " << rank;
      }
    }
  });
}

TEST(DynamicCursor, IsTheProgramWhenAllTimesAreAsTheScheduleAssumes) {
  for (const ScheduleConfig& config :
       {ScheduleConfig(GpipeSchedule{}), ScheduleConfig(OneFOneBSchedule{}),
        ScheduleConfig(OneFOneBSchedule{2}), ScheduleConfig(OneFOneBSchedule{1, true}),
        ScheduleConfig(OneFOneBSchedule{2, true}), ScheduleConfig(ZeroBubbleVSchedule{})}) {
    const auto program = dynamic_program(config, 4, 16);
    const OrderCosts costs{
        [](const Action& action) { return action.kind == ActionKind::backward ? 2.0 : 1.0; }, 0};

    const double fixed = simulate_order(*program, CursorOrder::static_, costs).makespan;

    EXPECT_EQ(simulate_order(*program, CursorOrder::dynamic, costs).makespan, fixed)
        << name_of_case(config, 4, 16);
  }
}

// Rank 0 of two with one stage (or, with a `1F` in it, two). Every action takes one second.
class OneRank : public ::testing::Test {
 protected:
  void start(const std::string& text, int extra_activations = 0) {
    const int stages = text.find("2F") == std::string::npos ? 2 : 4;
    const Topology topology(TopologyKind::loop, 2, stages);
    PipelineProgram program{topology, 3, {rank_program(text), {}}, {}, true};
    cursor.emplace(0, extra_activations);
    cursor->start(std::make_shared<const PipelineProgram>(std::move(program)));
  }
  // What runs when the rank has been idle that long and these have arrived, besides forwards of stage 0 and
  // weights; "" when nothing can.
  std::string next(const std::set<std::string>& arrived = {}, double idle = 0) {
    cursor->advance([](const Action&) { return false; }, now);
    const auto chosen = cursor->advance(
        [&](const Action& action) {
          const bool waits_for_nobody = action.kind == ActionKind::backward_weight ||
                                        (action.kind == ActionKind::forward && action.stage == 0);
          return waits_for_nobody || arrived.contains(to_string(action));
        },
        now + idle);
    if (chosen) now += idle + 1;
    return chosen ? to_string(*chosen) : "";
  }

  std::optional<DynamicCursor> cursor;
  double now = 0;
};

TEST_F(OneRank, WaitsForTheHeadOfItsProgramAsLongAsItsPatienceLasts) {
  start("0F0 0F1 0I0 0F2 0I1 0I2 0W0 0W1 0W2", 1);
  next();
  next();

  EXPECT_EQ(next({}, 0.9), "");
  EXPECT_EQ(cursor->next_wakeup(), now + 1) << "a forward waits for one mean action";
  EXPECT_EQ(next({"0I0"}, 0.95), "0I0") << "the head arrived in time";
  EXPECT_EQ(cursor->next_wakeup(), std::nullopt);
}

// A device's work goes on after the call that gave it.
TEST_F(OneRank, MeasuresItsPatienceByWhatItIsToldOfItsActions) {
  start("0F0 0F1 0I0 0F2 0I1 0I2 0W0 0W1 0W2", 1);
  next();
  next();
  cursor->set_mean_action(5);

  EXPECT_EQ(next({}, 4.9), "");
  EXPECT_EQ(cursor->next_wakeup(), now + 5);
  EXPECT_EQ(next({}, 5), "0F2");
}

TEST_F(OneRank, RunsAnotherActionWhenTheHeadIsTooLate) {
  start("0F0 0F1 0I0 0I1 0F2 0I2 0W0 0W1 0W2", 1);
  next();
  next();

  EXPECT_EQ(next({"0I0"}), "0I0");
  EXPECT_EQ(next({}, 1), "0F2") << "0I1 comes first, but is not here";
  EXPECT_EQ(next({}, 0.29), "");
  EXPECT_EQ(next({}, 0.3), "0W0") << "a weight waits least";
  EXPECT_EQ(next({}, 9), "") << "nothing else is there: 0W1 needs 0I1";
  EXPECT_EQ(cursor->next_wakeup(), std::nullopt);
}

TEST_F(OneRank, TakesAnInputGradientBeforeAForwardOfAnotherStage) {
  start("0F0 0F1 2F0 2I0 0I0 2F1 2I1 0I1 2W0 0W0 2W1 0W1");
  for (const char* action : {"0F0", "0F1"}) EXPECT_EQ(next(), action);
  EXPECT_EQ(next({"2F0"}), "2F0");
  EXPECT_EQ(next({"2I0"}), "2I0");

  EXPECT_EQ(next({"2F1"}, 0.6), "") << "0I0 comes first";
  EXPECT_EQ(next({"2F1"}, 1), "2F1");
  EXPECT_EQ(next({"2I1"}, 0.49), "");
  EXPECT_EQ(next({"2I1"}, 0.5), "2I1");
}

TEST_F(OneRank, NeverLetsAFullBackwardOvertakeAForwardWithoutSplits) {
  start("0F0 2F0 2B0 0F1 2F1 0B0 2B1 0B1");
  EXPECT_EQ(next(), "0F0");
  EXPECT_EQ(next({"2F0"}), "2F0");
  EXPECT_EQ(next({"2B0"}), "2B0");
  EXPECT_EQ(next(), "0F1");

  EXPECT_EQ(next({"0B0"}, 9), "") << "2F1 comes first";
  EXPECT_EQ(next({"0B0", "2F1"}, 9), "2F1");
}

TEST_F(OneRank, LetsAFullBackwardOvertakeAForwardOfAnotherStageWhereThereAreWeights) {
  start("0F0 2F0 2I0 2W0 0F1 2F1 0B0 2B1 0B1");
  EXPECT_EQ(next(), "0F0");
  EXPECT_EQ(next({"2F0"}), "2F0");
  EXPECT_EQ(next({"2I0"}), "2I0");
  EXPECT_EQ(next(), "2W0");
  EXPECT_EQ(next(), "0F1");

  EXPECT_EQ(next({"0B0"}, 0.5), "0B0");
}

TEST_F(OneRank, HoldsNoMoreThanItsProgramOverAllItsStages) {
  start("0F0 2F0 2B0 0B0 0F1 2F1 2B1 0B1");
  EXPECT_EQ(next(), "0F0");

  EXPECT_EQ(next({}, 9), "") << "0F1 would leave no room for 2F0";
  EXPECT_EQ(next({"2F0"}), "2F0");
  EXPECT_EQ(next({"2B0"}), "2B0");
  EXPECT_EQ(next({}, 9), "") << "stage 0 never holds two";
}

TEST_F(OneRank, HoldsAsManyMoreAsItIsGiven) {
  start("0F0 2F0 2B0 0B0 0F1 2F1 2B1 0B1", 1);
  EXPECT_EQ(next(), "0F0");

  EXPECT_EQ(next({}, 1), "0F1");
  EXPECT_EQ(next({"2F0"}), "2F0");
}

TEST_F(OneRank, DoesNotHoldMoreMicrobatchesThanTheProgram) {
  start("0F0 0B0 0F1 0B1 0F2 0B2");

  EXPECT_EQ(next(), "0F0");
  EXPECT_EQ(next({}, 9), "") << "0F1 would be a second one";
  EXPECT_EQ(next({"0B0"}), "0B0");
  EXPECT_EQ(next(), "0F1");
}

TEST_F(OneRank, KeepsSumsInTheProgramsOrderWhateverArrivesFirst) {
  start("0F0 0F1 0F2 0B2 0B1 0B0");
  for (int i = 0; i < 3; ++i) next();

  EXPECT_EQ(next({"0B0", "0B1"}, 9), "");
  EXPECT_EQ(next({"0B0", "0B1", "0B2"}), "0B2");
}

TEST_F(OneRank, FollowsALeaderAndWaitsForItsOwnInputs) {
  start("0F0 0F1 0B0 0B1");
  const auto nothing = [](const Action&) { return false; };
  const auto all = [](const Action&) { return true; };

  EXPECT_FALSE(cursor->follow(parse_instruction("0F0"), nothing));
  EXPECT_TRUE(cursor->follow(parse_instruction("0F0"), all));
  EXPECT_TRUE(cursor->follow(parse_instruction("0B0"), all)) << "before 0F1: the leader's choice";
  EXPECT_THROW(cursor->follow(parse_instruction("0B0"), all), Error) << "twice";
  EXPECT_THROW(cursor->follow(parse_instruction("0B1"), all), Error) << "before its F";
  EXPECT_THROW(cursor->follow(parse_instruction("1F0"), all), Error) << "not its stage";
  EXPECT_TRUE(cursor->follow(parse_instruction("0F1"), all));
  EXPECT_TRUE(cursor->follow(parse_instruction("0B1"), all));
  EXPECT_TRUE(cursor->done());
}

TEST(DynamicCursor, ComposesWhatTheProgramComposesUnlessAPartIsTooLate) {
  const auto program = dynamic_program(DualPipeVSchedule{}, 2, 4);
  const auto composed_of = [&](double seconds, const ActionCursor::Ready& ready) {
    DynamicCursor cursor(1);
    cursor.start(program);
    std::set<std::string> composed;
    int idle = 0;
    for (double now = 0; idle < 3; now += seconds) {
      const auto chosen = cursor.advance(ready, now);
      idle = chosen ? 0 : idle + 1;
      if (chosen && chosen->parts.size() > 1) composed.insert(to_string(*chosen));
    }
    return composed;
  };
  const auto forwards = [](const Action& action) { return action.kind == ActionKind::forward; };

  EXPECT_FALSE(composed_of(1, [](const Action&) { return true; }).empty());
  EXPECT_TRUE(composed_of(1, forwards).empty());
}

TEST(DynamicCursor, EndsAndStartsAgain) {
  DynamicCursor cursor(0);
  EXPECT_TRUE(cursor.done());
  const auto program = dynamic_program(InferenceSchedule{}, 1, 1);
  cursor.start(program);

  EXPECT_THROW(cursor.start(program), Error);
  EXPECT_TRUE(cursor.advance([](const Action&) { return true; }, 0));
  EXPECT_TRUE(cursor.done());
  EXPECT_NO_THROW(cursor.start(program));
}

TEST(OrderSimulator, AgreesWithTheSimulatorOnTheProgramsOrder) {
  for_each_program([](const PipelineProgram& composed) {
    const auto program = parts_apart(std::make_shared<const PipelineProgram>(composed));
    const Topology& topology = program->topology;
    const OrderCosts costs{
        [](const Action& action) { return action.kind == ActionKind::backward ? 2.0 : 1.0; }, 0.25};
    const CostModel model{std::vector<StageCosts>(static_cast<std::size_t>(topology.num_stages())), 0.25, 0};

    const Simulation expected = simulate(composed.compute, topology, model);
    const Simulation got = simulate_order(*program, CursorOrder::static_, costs);

    ASSERT_EQ(got.makespan, expected.makespan);
    ASSERT_EQ(got.peak_activations, expected.peak_activations);
    ASSERT_EQ(got.peak_pending_weights, expected.peak_pending_weights);
  });
}

TEST(PartsApart, AreTheSameActionsOneByOne) {
  const auto composed = dynamic_program(DualPipeVSchedule{}, 2, 4);
  const auto apart = parts_apart(composed);

  for (std::size_t rank = 0; rank < 2; ++rank) {
    std::string text = text_of(composed->compute[rank]);
    EXPECT_NE(text.find('|'), std::string::npos);
    std::replace(text.begin(), text.end(), '|', ' ');
    EXPECT_EQ(text_of(apart->compute[rank]), text);
    EXPECT_EQ(text_of(apart->full[rank]).find('|'), std::string::npos);
  }
  EXPECT_EQ(parts_apart(apart), apart) << "nothing to do, nothing copied";
}

}  // namespace
}  // namespace d9d
