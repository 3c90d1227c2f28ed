#pragma once
// Schedule `auto`: the program with the least simulated makespan that a search finds for given costs. It
// starts from every fixed schedule of the topology and from list schedules under many rules, and goes on from
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
  // (stage, microbatch) pairs a rank may hold between their F and the end of their B or W
  // (Simulation::peak_held); at least the stages of a rank.
  int held_max = 1;
};
// What textbook 1F1B holds where it holds most, all microbatches of a step at most: ranks x stages per rank.
int default_held_max(const Topology& topology, int microbatches);

AutoProblem auto_problem(const AutoSchedule& schedule, const Topology& topology, int microbatches,
                         CostModel costs);

struct AutoChoice {
  Program compute;
  Simulation simulation;
  std::string origin;  // a fixed schedule as it is; or "searched"
  // The best fixed schedule of this topology under the limit; without a name where none keeps it.
  std::string fixed;
  double fixed_makespan = 0;
  double fixed_bubble = 0;
};

// How much work a search may be: actions timed, in all. The default takes below 1 s on one core.
constexpr std::int64_t search_actions_max = 30'000'000;

// Never worse than the best fixed schedule under the limit. Deterministic: all ranks
// find the same program from the same numbers. Only costs with `overlap` may bring a
// fixed program that composes; every stage takes microbatches in ascending order in
// F, I or B, and W. Input error when the limit is too small or costs are negative.
AutoChoice search_schedule(const AutoProblem& problem, std::int64_t actions_max = search_actions_max);

}  // namespace d9d
