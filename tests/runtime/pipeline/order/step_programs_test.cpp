#include "runtime/pipeline/order/step_programs.hpp"

#include <gtest/gtest.h>

#include <thread>

#include "runtime/base/error.hpp"
#include "tests/runtime/pipeline/program_text.hpp"

namespace d9d {
namespace {

using test::rank_program;
using test::text_of;

AutoSchedule quick(int stages_per_rank = 1) {
  AutoSchedule schedule;
  schedule.num_stages_per_rank = stages_per_rank;
  schedule.measured_steps = 2;
  return schedule;
}

constexpr int replica_count = 3;

// Two ranks that measure what the costs say, on clocks that differ by `skew`.
class TwoRanks {
 public:
  TwoRanks(const AutoSchedule& schedule, CostModel costs, double skew)
      : costs_(std::move(costs)),
        skew_(skew),
        ranks_{StepPrograms(schedule, 2, replica_count), StepPrograms(schedule, 2, replica_count)} {}

  // The program that both ranks ran.
  std::shared_ptr<const PipelineProgram> run_step(int microbatches) {
    const auto program = ranks_[0].get(microbatches);
    said_ += ranks_[0].take_report();
    EXPECT_EQ(program->compute, ranks_[1].get(microbatches)->compute);
    for (std::size_t rank = 0; rank < 2; ++rank) {
      for (const Instruction& instruction : program->compute[rank]) {
        const Action& action = instruction.parts.front();
        ranks_[rank].add_action_time(instruction,
                                     costs_.stages[static_cast<std::size_t>(action.stage)].of(action.kind));
      }
    }
    for (const double late : {0.5, 0.0, 0.2}) {
      ranks_[1].add_transfer_time(false, 1, costs_.transfer + late + skew_);
      ranks_[0].add_transfer_time(true, 0, costs_.transfer + late - skew_);
    }
    auto sums = ranks_[0].finish_step();
    const auto other = ranks_[1].finish_step();
    EXPECT_EQ(sums.size(), other.size());
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] = replica_count * (sums[i] + other[i]);
    for (StepPrograms& rank : ranks_) {
      if (!sums.empty()) rank.use_summed_costs(sums);
    }
    return program;
  }
  const std::string& said() const { return said_; }

 private:
  const CostModel costs_;
  const double skew_;
  StepPrograms ranks_[2];
  std::string said_;
};

CostModel uneven_costs() {
  CostModel costs;
  costs.stages = {{1, 0.1, 2, 1.9}, {1.5, 1, 1, 2.2}};
  costs.transfer = 0.3;
  return costs;
}

TEST(StepPrograms, MeasuresWithFullAndSplitBackwardsAndThenRunsTheBestProgram) {
  TwoRanks ranks(quick(), uneven_costs(), 0);

  const std::string full = text_of(ranks.run_step(4)->compute[1]);
  ranks.run_step(4);
  const std::string split = text_of(ranks.run_step(4)->compute[1]);
  EXPECT_TRUE(ranks.said().empty()) << "a job that ends here has no use for a search";
  const auto chosen = ranks.run_step(4);
  const std::string once = ranks.said();
  ranks.run_step(4);
  ranks.run_step(3);

  EXPECT_EQ(full, "1F0 1B0 1F1 1B1 1F2 1B2 1F3 1B3");
  EXPECT_EQ(split, "1F0 1I0 1W0 1F1 1I1 1W1 1F2 1I2 1W2 1F3 1I3 1W3");
  const Topology topology(TopologyKind::loop, 2, 2);
  const AutoChoice expected = search_schedule({topology, 4, uneven_costs(), default_held_max(topology, 4)});
  EXPECT_EQ(chosen->compute, expected.compute);
  EXPECT_NE(ranks.said().find("stage 0 F 1000.000 ms B 1900.000 ms I 100.000 ms W 2000.000 ms"),
            std::string::npos)
      << ranks.said();
  EXPECT_EQ(ranks.said(), once);
  EXPECT_NE(ranks.said().find("transfers up to 300.000 ms"), std::string::npos) << ranks.said();
}

TEST(StepPrograms, DoesNotMindClocksThatDiffer) {
  TwoRanks same(quick(), uneven_costs(), 0), other(quick(), uneven_costs(), 1000);

  for (int step = 0; step < 4; ++step) EXPECT_EQ(same.run_step(4)->compute, other.run_step(4)->compute);
}

TEST(StepPrograms, RanksOfAProcessShareWhatOneSearchFinds) {
  const Topology topology(TopologyKind::loop, 2, 2);
  const AutoProblem problem{topology, 4, uneven_costs(), default_held_max(topology, 4)};
  AutoProblem other = problem;
  other.costs.stages[0].forward *= 2;
  SharedSearch search;
  SharedSearch::Found found[2];

  std::thread rank([&] { found[1] = search.find(problem); });
  found[0] = search.find(problem);
  rank.join();

  EXPECT_EQ(found[0], found[1]);
  EXPECT_NE(found[0], search.find(other));
  EXPECT_EQ(found[0]->compute, search_schedule(problem).compute);
}

TEST(StepPrograms, EveryoneWhoAsksHearsThatTheLimitIsTooSmall) {
  const Topology topology(TopologyKind::loop, 2, 2);
  const AutoProblem impossible{topology, 4, uneven_costs(), 0};
  SharedSearch search;

  EXPECT_THROW(search.find(impossible), Error);
  EXPECT_THROW(search.find(impossible), Error);
}

TEST(StepPrograms, SearchesAgainForAnotherNumberOfMicrobatches) {
  TwoRanks ranks(quick(), uneven_costs(), 0);
  for (int step = 0; step < 3; ++step) ranks.run_step(4);

  const auto three = ranks.run_step(3);

  EXPECT_EQ(three->num_microbatches, 3);
  EXPECT_EQ(ranks.run_step(3), three);
}

TEST(StepPrograms, StartsWithinTheLimitWhereNoFixedScheduleServes) {
  AutoSchedule schedule = quick(2);
  schedule.activations_max = 3;
  StepPrograms programs(schedule, 2);

  const auto program = programs.get(5);

  const auto held = simulate(program->compute, program->topology, unit_costs(program->topology)).peak_held;
  EXPECT_LE(std::max(held[0], held[1]), 3);
}

TEST(StepPrograms, KeepAFixedScheduleAsItIs) {
  StepPrograms programs(OneFOneBSchedule{}, 2);

  for (int step = 0; step < 8; ++step) {
    EXPECT_EQ(text_of(programs.get(2)->compute[1]), "1F0 1B0 1F1 1B1");
    EXPECT_TRUE(programs.finish_step().empty());
  }
  EXPECT_THROW(programs.use_summed_costs({}), Error);
}

TEST(StepPrograms, SplitAndJoinBackwards) {
  const Program mixed = {rank_program("0F0 0F1|0B0 0I1 0W1")};

  EXPECT_EQ(text_of(split_backwards(mixed)[0]), "0F0 0F1 0I0 0W0 0I1 0W1");
  EXPECT_EQ(text_of(join_backwards(mixed)[0]), "0F0 0F1 0B0 0B1");
}

}  // namespace
}  // namespace d9d
