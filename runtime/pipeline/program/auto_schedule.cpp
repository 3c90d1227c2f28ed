#include "runtime/pipeline/program/auto_schedule.hpp"

#include <algorithm>
#include <limits>
#include <tuple>
#include <utility>

#include "runtime/base/error.hpp"
#include "runtime/pipeline/program/build_program.hpp"
#include "runtime/pipeline/program/list_schedule.hpp"
#include "runtime/pipeline/program/order_search.hpp"

namespace d9d {
namespace {

constexpr std::size_t num_starts = 3;             // orders from which the local search starts
constexpr std::int64_t list_cost = 12;            // work of a list-scheduled action, in timed actions
constexpr std::uint64_t search_seed = 0x6439640;  // arbitrary, but the same on all ranks

// The fixed schedules with the same stages on the same ranks. With one stage per
// rank the topologies do not differ.
std::vector<ScheduleConfig> fixed_schedules(const Topology& topology) {
  const int stages = topology.stages_per_rank();
  if (topology.kind() == TopologyKind::v && stages > 2) return {};
  if (topology.kind() == TopologyKind::v && stages == 2) return {ZeroBubbleVSchedule{}, DualPipeVSchedule{}};
  return {OneFOneBSchedule{stages, true}, OneFOneBSchedule{stages},
          OneFOneBSchedule{stages, false, Warmup::deep}, LoopedBfsSchedule{stages}};
}

// A fixed schedule that has a program for these numbers and keeps the limit.
struct Fixed {
  std::string name;
  Program compute;
  Simulation simulation;
};

std::string full_name(const ScheduleConfig& config) {
  std::string name(name_of(config));
  if (const auto* one = std::get_if<OneFOneBSchedule>(&config)) {
    if (one->zero_bubble) name += ", zero bubble";
    if (!one->zero_bubble && one->warmup == Warmup::deep) name += ", deep";
  }
  return name;
}

bool composes(const Program& compute) {
  for (const RankProgram& rank : compute) {
    for (const Instruction& instruction : rank) {
      if (instruction.parts.size() > 1) return true;
    }
  }
  return false;
}

std::vector<Fixed> fixed_candidates(const AutoProblem& problem, const ActionTable& table) {
  std::vector<Fixed> candidates;
  for (const ScheduleConfig& config : fixed_schedules(problem.topology)) {
    Fixed fixed{full_name(config), {}, {}};
    if (!serves(config, problem.topology.num_ranks(), problem.microbatches)) continue;
    fixed.compute = build_compute(config, problem.topology.num_ranks(), problem.microbatches);
    const bool apart = !problem.costs.overlap || !composes(fixed.compute);
    if (apart) fixed.compute = program_of(order_of(fixed.compute, table), table);
    fixed.simulation = simulate(fixed.compute, problem.topology, problem.costs);
    const auto& held = fixed.simulation.peak_held;
    if (*std::max_element(held.begin(), held.end()) <= problem.held_max)
      candidates.push_back(std::move(fixed));
  }
  std::stable_sort(candidates.begin(), candidates.end(), [](const Fixed& a, const Fixed& b) {
    return a.simulation.makespan < b.simulation.makespan;
  });
  return candidates;
}

// The warm-up depths of the known schedules, by rank, in cells.
std::vector<std::vector<int>> depth_profiles(const AutoProblem& problem) {
  const int ranks = problem.topology.num_ranks();
  const int stages = problem.topology.stages_per_rank();
  std::vector<std::vector<int>> profiles(4);
  for (int rank = 0; rank < ranks; ++rank) {
    const int below = ranks - rank;
    for (const auto& [profile, depth] : {std::pair{0, problem.held_max},
                                         {1, stages * below},
                                         {2, (stages - 1) * ranks + below},
                                         {3, (stages - 1) * ranks + 2 * below - 1}}) {
      profiles[static_cast<std::size_t>(profile)].push_back(std::clamp(depth, stages, problem.held_max));
    }
  }
  std::sort(profiles.begin(), profiles.end());
  profiles.erase(std::unique(profiles.begin(), profiles.end()), profiles.end());
  return profiles;
}

// How many W may wait before a W goes first: none, as many as in ZB-H1, any number.
std::vector<std::vector<int>> pending_profiles(int ranks) {
  std::vector<std::vector<int>> profiles(3);
  for (int rank = 0; rank < ranks; ++rank) {
    profiles[0].push_back(0);
    profiles[1].push_back(rank);
    profiles[2].push_back(std::numeric_limits<int>::max());
  }
  return profiles;
}

std::vector<ListRules> all_rules(const AutoProblem& problem) {
  std::vector<ListRules> all;
  ListRules rules;
  rules.held_max = problem.held_max;
  const auto pending = pending_profiles(problem.topology.num_ranks());
  const bool one_stage = problem.topology.stages_per_rank() == 1;
  for (const auto& depth : depth_profiles(problem)) {
    rules.live_max = depth;
    for (const Prefer prefer : {Prefer::gradient, Prefer::alternate, Prefer::forward}) {
      rules.prefer = prefer;
      for (const ForwardOrder forwards : {ForwardOrder::depth_first, ForwardOrder::breadth_first}) {
        rules.forwards = forwards;
        if (one_stage && forwards != ForwardOrder::depth_first) continue;
        rules.split = false;
        rules.pending_max = pending[0];
        all.push_back(rules);
        rules.split = true;
        for (const auto& waiting : pending) {
          rules.pending_max = waiting;
          for (const double patience : {0.0, 0.5, 1.0}) {
            rules.patience = patience;
            all.push_back(rules);
          }
        }
      }
    }
  }
  return all;
}

struct Start {
  double makespan;
  double sum_of_ends;
  ActionOrder order;
};

void offer(std::vector<Start>& starts, ActionOrder order, OrderTimes& times) {
  D9D_CHECK(times.compute(order), "a start of the schedule search deadlocks");
  for (const Start& known : starts) {
    if (known.makespan == times.makespan() && known.sum_of_ends == times.sum_of_ends()) return;
  }
  starts.push_back({times.makespan(), times.sum_of_ends(), std::move(order)});
  std::stable_sort(starts.begin(), starts.end(), [](const Start& a, const Start& b) {
    return std::tie(a.makespan, a.sum_of_ends) < std::tie(b.makespan, b.sum_of_ends);
  });
  if (starts.size() > num_starts) starts.pop_back();
}

// A makespan that no program can beat: the work of a rank, plus the way of its first
// input and of its last gradient.
double lower_bound(const AutoProblem& problem) {
  const Topology& topology = problem.topology;
  const int stages = topology.num_stages();
  std::vector<double> head(static_cast<std::size_t>(stages)),
      work(static_cast<std::size_t>(topology.num_ranks()));
  double bound = 0, backwards = 0;
  for (int stage = 0; stage < stages; ++stage) {
    const auto at = static_cast<std::size_t>(stage);
    const StageCosts& costs = problem.costs.stages[at];
    if (stage > 0) {
      const StageCosts& before = problem.costs.stages[at - 1];
      const double transfer = problem.costs.transfer_between(stage - 1, stage, topology);
      head[at] = head[at - 1] + before.forward + transfer;
      backwards += transfer;
    }
    const double backward = std::min(costs.backward(), costs.backward_input + costs.backward_weight);
    work[static_cast<std::size_t>(topology.rank_of(stage))] +=
        problem.microbatches * (costs.forward + backward);
    backwards += std::min(costs.backward(), costs.backward_input);
  }
  for (int rank = 0; rank < topology.num_ranks(); ++rank) {
    const int first = topology.stages_of(rank).front();
    bound = std::max(bound, head[static_cast<std::size_t>(first)] + work[static_cast<std::size_t>(rank)]);
  }
  const double once_through = head.back() + problem.costs.stages.back().forward + backwards;
  return std::max(bound, once_through);
}

std::vector<Start> best_starts(const AutoProblem& problem, const std::vector<Fixed>& fixed,
                               const ActionTable& table, std::int64_t& actions_left) {
  OrderTimes times(table);
  std::vector<Start> starts;
  for (const Fixed& candidate : fixed) offer(starts, order_of(candidate.compute, table), times);
  for (const ListRules& rules : all_rules(problem)) {
    if (actions_left <= 0 && !starts.empty()) break;
    offer(starts, list_schedule(table, rules), times);
    actions_left -= list_cost * table.size();
  }
  return starts;
}

void check_problem(const AutoProblem& problem) {
  const int stages = problem.topology.stages_per_rank();
  D9D_REQUIRE(problem.held_max >= stages,
              "at most {} activations on a rank of {} stages: one microbatch alone needs {}; raise the limit",
              problem.held_max, stages, stages);
  for (const StageCosts& costs : problem.costs.stages) {
    const bool valid = costs.forward >= 0 && costs.backward_input >= 0 && costs.backward_weight >= 0 &&
                       costs.backward() >= 0;
    D9D_REQUIRE(valid, "a stage's costs are F {} I {} W {}; expected times of at least 0", costs.forward,
                costs.backward_input, costs.backward_weight);
  }
}

}  // namespace

int default_held_max(const Topology& topology, int microbatches) {
  return topology.stages_per_rank() * std::min(topology.num_ranks(), microbatches);
}

AutoProblem auto_problem(const AutoSchedule& schedule, const Topology& topology, int microbatches,
                         CostModel costs) {
  return {topology, microbatches, std::move(costs),
          schedule.activations_max.value_or(default_held_max(topology, microbatches))};
}

AutoChoice search_schedule(const AutoProblem& problem, std::int64_t actions_max) {
  check_problem(problem);
  const ActionTable table(problem.topology, problem.microbatches, problem.costs);
  std::vector<Fixed> fixed = fixed_candidates(problem, table);
  std::int64_t actions_left = actions_max / 2;
  const std::vector<Start> starts = best_starts(problem, fixed, table, actions_left);
  actions_left += actions_max / 2;

  AutoChoice choice;
  if (!fixed.empty()) {
    choice = {fixed[0].compute, fixed[0].simulation,          fixed[0].name,
              fixed[0].name,    fixed[0].simulation.makespan, fixed[0].simulation.bubble};
  }
  SearchLimits limits{problem.held_max, 0, lower_bound(problem)};
  for (std::size_t i = 0; i < starts.size(); ++i) {
    limits.actions_max = actions_left / static_cast<std::int64_t>(starts.size());
    const ActionOrder order = search_order(starts[i].order, table, limits, search_seed + i);
    Program compute = program_of(order, table);
    Simulation simulation = simulate(compute, problem.topology, problem.costs);
    if (!choice.origin.empty() && simulation.makespan >= choice.simulation.makespan) continue;
    choice.compute = std::move(compute);
    choice.simulation = std::move(simulation);
    choice.origin = "searched";
  }
  return choice;
}

}  // namespace d9d
