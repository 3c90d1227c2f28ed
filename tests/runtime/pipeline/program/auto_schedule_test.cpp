#include "runtime/pipeline/program/auto_schedule.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "runtime/base/error.hpp"
#include "runtime/base/rng.hpp"
#include "runtime/pipeline/program/build_program.hpp"
#include "tests/runtime/pipeline/program_text.hpp"

namespace d9d {
namespace {

constexpr std::int64_t quick_budget = 1'000'000;

AutoProblem unit_problem(TopologyKind kind, int ranks, int stages_per_rank, int microbatches) {
  const Topology topology(kind, ranks, ranks * stages_per_rank);
  return {topology, microbatches, unit_costs(topology), default_held_max(topology, microbatches)};
}

// Costs of one seed: stages differ, transfers between none and most of a forward.
class RandomProblem {
 public:
  explicit RandomProblem(std::uint64_t seed) : random_(seed, "auto schedule test") {}

  AutoProblem draw(int ranks_max, int microbatches_max) {
    const int ranks = 1 + below(ranks_max);
    const int stages = 1 + below(2);
    const auto kind = stages == 2 && below(2) == 1 ? TopologyKind::v : TopologyKind::loop;
    const Topology topology(kind, ranks, ranks * stages);
    return with_costs(topology, 1 + below(microbatches_max));
  }

  AutoProblem with_costs(const Topology& topology, int microbatches) {
    CostModel costs;
    for (int stage = 0; stage < topology.num_stages(); ++stage) {
      costs.stages.push_back({cost(), cost(), cost()});
      if (below(2) == 0) costs.stages.back().full_backward = 2 * cost();
      if (stage > 0) costs.transfers.push_back(below(3) * 0.4 * cost());
    }
    const int one = topology.stages_per_rank();
    const int held_max = one + below(one * topology.num_ranks() + 1);
    return {topology, microbatches, costs, held_max};
  }

 private:
  int below(int bound) {
    return static_cast<int>(random_.below(draws_++, static_cast<std::uint64_t>(bound)));
  }
  double cost() { return 0.5 + random_.uniform(draws_++); }
  RandomStream random_;
  std::uint64_t draws_ = 0;
};

int peak_held(const Simulation& simulation) {
  return *std::max_element(simulation.peak_held.begin(), simulation.peak_held.end());
}

// The best makespan of the fixed schedules that keep the limit, counted without the search's help.
double best_fixed(const AutoProblem& problem) {
  double best = std::numeric_limits<double>::infinity();
  const int stages = problem.topology.stages_per_rank();
  for (const ScheduleConfig& config : std::vector<ScheduleConfig>{
           GpipeSchedule{}, LoopedBfsSchedule{stages}, OneFOneBSchedule{stages},
           OneFOneBSchedule{stages, true}, OneFOneBSchedule{stages, false, Warmup::deep},
           ZeroBubbleVSchedule{}, DualPipeVSchedule{}}) {
    const int ranks = problem.topology.num_ranks();
    const Topology topology = topology_of(config, ranks);
    const bool same =
        topology.kind() == problem.topology.kind() && topology.num_stages() == problem.topology.num_stages();
    if (!same || !serves(config, ranks, problem.microbatches)) continue;
    const Simulation fixed =
        simulate(build_compute(config, ranks, problem.microbatches), topology, problem.costs);
    if (peak_held(fixed) <= problem.held_max) best = std::min(best, fixed.makespan);
  }
  return best;
}

TEST(AutoSchedule, IsNeverWorseThanTheBestFixedScheduleUnderTheLimit) {
  int compared = 0, better = 0;
  for (std::uint64_t seed = 0; seed < 150; ++seed) {
    const AutoProblem problem = RandomProblem(seed).draw(5, 12);
    SCOPED_TRACE(seed);

    const AutoChoice choice = search_schedule(problem, quick_budget);

    EXPECT_NO_THROW(complete_program(choice.compute, problem.topology, problem.microbatches));
    EXPECT_LE(peak_held(choice.simulation), problem.held_max);
    EXPECT_EQ(simulate(choice.compute, problem.topology, problem.costs).makespan, choice.simulation.makespan);
    const double fixed = best_fixed(problem);
    EXPECT_LE(choice.simulation.makespan, fixed);
    EXPECT_EQ(choice.fixed.empty(), fixed == std::numeric_limits<double>::infinity());
    compared += choice.fixed.empty() ? 0 : 1;
    better += !choice.fixed.empty() && choice.simulation.makespan < fixed ? 1 : 0;
  }
  EXPECT_GT(compared, 50);
  EXPECT_GT(better, 30);
}

// All interleavings of F, I and W of one stage that keep the ascending order.
void interleave(int stage, int microbatches, RankProgram so_far, std::array<int, 3> next,
                std::vector<RankProgram>& all) {
  if (next[2] == microbatches) all.push_back(so_far);
  const ActionKind kinds[] = {ActionKind::forward, ActionKind::backward_input, ActionKind::backward_weight};
  for (std::size_t k = 0; k < 3; ++k) {
    if (next[k] == (k == 0 ? microbatches : next[k - 1])) continue;
    RankProgram longer = so_far;
    longer.push_back({{{kinds[k], stage, next[k]}}});
    std::array<int, 3> after = next;
    ++after[k];
    interleave(stage, microbatches, longer, after, all);
  }
}

double best_of_all(const AutoProblem& problem) {
  std::vector<RankProgram> first, second;
  interleave(0, problem.microbatches, {}, {}, first);
  interleave(1, problem.microbatches, {}, {}, second);
  double best = std::numeric_limits<double>::infinity();
  for (const RankProgram& a : first) {
    for (const RankProgram& b : second) {
      try {
        const Simulation result = simulate({a, b}, problem.topology, problem.costs);
        if (peak_held(result) <= problem.held_max) best = std::min(best, result.makespan);
      } catch (const Error&) {  // a deadlock
      }
    }
  }
  return best;
}

TEST(AutoSchedule, FindsTheBestOfAllProgramsWhereAllCanBeTried) {
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    AutoProblem problem = RandomProblem(seed).with_costs(Topology(TopologyKind::loop, 2, 2), 3);
    for (StageCosts& costs : problem.costs.stages) costs.full_backward.reset();
    SCOPED_TRACE(seed);

    const AutoChoice choice = search_schedule(problem, quick_budget);

    EXPECT_NEAR(choice.simulation.makespan, best_of_all(problem), 1e-9);
  }
}

TEST(AutoSchedule, GivesTheSameProgramEveryTime) {
  const AutoProblem problem = RandomProblem(7).with_costs(Topology(TopologyKind::v, 3, 6), 7);

  const AutoChoice first = search_schedule(problem, quick_budget);
  const AutoChoice second = search_schedule(problem, quick_budget);

  EXPECT_EQ(first.compute, second.compute);
}

// Gradients are summed in the same order whatever the program.
TEST(AutoSchedule, TakesMicrobatchesInAscendingOrderInEveryQueue) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const AutoProblem problem = RandomProblem(seed).draw(4, 8);

    const AutoChoice choice = search_schedule(problem, quick_budget);

    for (const RankProgram& rank : choice.compute) {
      std::map<std::pair<int, int>, int> last;  // by stage, and what it does: F, input or weight gradients
      for (const Instruction& instruction : rank) {
        for (const Action& a : instruction.parts) {
          const bool input = a.kind == ActionKind::backward || a.kind == ActionKind::backward_input;
          const bool weight = a.kind == ActionKind::backward || a.kind == ActionKind::backward_weight;
          for (const auto& [does, queue] :
               {std::pair{a.kind == ActionKind::forward, 0}, {input, 1}, {weight, 2}}) {
            if (!does) continue;
            const auto [entry, first] = last.try_emplace({a.stage, queue}, a.microbatch);
            EXPECT_TRUE(first || a.microbatch > entry->second) << to_string(a) << " seed " << seed;
            entry->second = a.microbatch;
          }
        }
      }
    }
  }
}

TEST(AutoSchedule, ServesNumbersThatNoFixedScheduleServes) {
  const AutoProblem problem = unit_problem(TopologyKind::loop, 4, 2, 6);

  const AutoChoice choice = search_schedule(problem, quick_budget);

  EXPECT_EQ(choice.fixed, "");  // they hold too much
  EXPECT_EQ(choice.origin, "searched");
  EXPECT_LT(choice.simulation.bubble, 0.12);
}

TEST(AutoSchedule, ServesAnyNumberOfStagesOnAV) {
  for (const int stages : {1, 2, 3, 4}) {
    for (const int ranks : {1, 3}) {
      SCOPED_TRACE(std::to_string(stages) + " stages on each of " + std::to_string(ranks));
      const AutoProblem problem = unit_problem(TopologyKind::v, ranks, stages, 6);

      const AutoChoice choice = search_schedule(problem, quick_budget);

      EXPECT_NO_THROW(complete_program(choice.compute, problem.topology, problem.microbatches));
      EXPECT_EQ(choice.fixed.empty(), stages > 2) << choice.fixed;
    }
  }
}

TEST(AutoSchedule, MeetsTheBoundOfZeroBubbleWithUnitCosts) {
  EXPECT_DOUBLE_EQ(
      search_schedule(unit_problem(TopologyKind::loop, 8, 1, 32), quick_budget).simulation.makespan, 103);
  EXPECT_DOUBLE_EQ(search_schedule(unit_problem(TopologyKind::v, 8, 2, 32), quick_budget).simulation.makespan,
                   99.5);
}

TEST(AutoSchedule, TradesTimeForActivations) {
  AutoProblem problem = unit_problem(TopologyKind::v, 4, 2, 12);
  double before = 0;
  for (const int held_max : {8, 6, 4, 2}) {
    problem.held_max = held_max;

    const double makespan = search_schedule(problem, quick_budget).simulation.makespan;

    EXPECT_GE(makespan, before) << held_max;
    before = makespan;
  }
}

TEST(AutoSchedule, RefusesALimitBelowOneMicrobatchAndNegativeCosts) {
  AutoProblem problem = unit_problem(TopologyKind::v, 2, 2, 4);
  problem.held_max = 1;
  EXPECT_THROW(search_schedule(problem, quick_budget), Error);
  problem.held_max = 4;
  problem.costs.stages[0].forward = -1;
  EXPECT_THROW(search_schedule(problem, quick_budget), Error);
}

}  // namespace
}  // namespace d9d
