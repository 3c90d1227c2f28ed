#include "tests/bench/planning_cost.hpp"

#include <algorithm>
#include <ctime>
#include <functional>
#include <vector>

#include "runtime/mesh/plan.hpp"
#include "runtime/pipeline/program/auto_schedule.hpp"
#include "runtime/pipeline/program/build_program.hpp"
#include "runtime/pipeline/simulated/simulator.hpp"

namespace d9d {
namespace {

double cpu_seconds(int repeats, const std::function<void()>& work) {
  std::vector<double> all;
  for (int i = 0; i < repeats; ++i) {
    const std::clock_t begin = std::clock();
    work();
    all.push_back(static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC);
  }
  std::sort(all.begin(), all.end());
  return all[all.size() / 2];
}

AutoProblem search_problem() {
  const Topology topology(TopologyKind::v, 8, 16);
  AutoProblem problem{topology, 32, unit_costs(topology), default_held_max(topology, 32)};
  problem.costs.transfer = 0.2;
  problem.costs.stages[3].forward = 0.9;
  return problem;
}

void place_all_ranks() {
  constexpr int ranks_of_a_node = 8;
  DeviceMeshParameters mesh;
  mesh.pipeline_parallel = mesh.data_parallel_replicate = 64;
  const int num_ranks = mesh.world_size();
  const Plan plan(mesh,
                  std::vector<int>(static_cast<std::size_t>(num_ranks / ranks_of_a_node), ranks_of_a_node));
  for (int rank = 0; rank < num_ranks; ++rank) plan.groups_of(rank);
}

}  // namespace

nlohmann::json measure_planning(int repeats) {
  const PipelineProgram program = build_program(ZeroBubbleVSchedule{}, 64, 512);
  const CostModel costs = unit_costs(program.topology);
  return {
      {"build_seconds", cpu_seconds(repeats, [] { build_program(ZeroBubbleVSchedule{}, 64, 512); })},
      {"simulate_seconds", cpu_seconds(repeats, [&] { simulate(program.compute, program.topology, costs); })},
      {"search_seconds", cpu_seconds(repeats, [] { search_schedule(search_problem()); })},
      {"place_4096_ranks_seconds", cpu_seconds(repeats, place_all_ranks)}};
}

}  // namespace d9d
