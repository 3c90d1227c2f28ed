#pragma once
// Schedule `auto`: searches the program with the least simulated makespan for given costs. The search
// starts from every fixed schedule of the topology and from list schedules under many rules, and improves
// the best of them by local search.

#include <cstdint>
#include <string>

#include "runtime/pipeline/program/schedule_config.hpp"
#include "runtime/pipeline/simulated/simulator.hpp"

namespace d9d {

struct AutoProblem {
  Topology topology;
  int microbatches = 1;
  CostModel costs;
  // The most (stage, microbatch) pairs that a rank may hold between their F and the end of their B or W
  // (Simulation::peak_held). At least the number of stages of a rank.
  int held_max = 1;
};
// The most that any rank of textbook 1F1B holds: ranks x stages per rank, but no more
// than all microbatches of a step.
int default_held_max(const Topology& topology, int microbatches);

AutoProblem auto_problem(const AutoSchedule& schedule, const Topology& topology, int microbatches,
                         CostModel costs);

struct AutoChoice {
  Program compute;
  Simulation simulation;
  std::string origin;  // the name of a fixed schedule, or "searched"
  // The best fixed schedule of this topology within the limit; an empty name when none keeps the limit.
  std::string fixed;
  double fixed_makespan = 0;
  double fixed_bubble = 0;
};

// The limit of a search's work: the total number of timed actions. The default
// takes less than 1 s on one core.
constexpr std::int64_t search_actions_max = 30'000'000;

// Returns a program that is never worse than the best fixed schedule within the limit. Deterministic: all
// ranks find the same program from the same numbers. The result composes actions only if the costs have
// `overlap`. Every stage takes microbatches in ascending order in F, in I or B, and in W. Input error when
// the limit is too small or costs are negative.
AutoChoice search_schedule(const AutoProblem& problem, std::int64_t actions_max = search_actions_max);

}  // namespace d9d
