#include "runtime/pipeline/simulated/simulator.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "runtime/base/error.hpp"
#include "runtime/pipeline/program/stage_grid.hpp"

namespace d9d {
namespace {

constexpr double never_done = std::numeric_limits<double>::infinity();

int microbatches_of(const Program& program) {
  int count = 0;
  for (const RankProgram& rank : program) {
    for (const Instruction& instruction : rank) {
      for (const Action& action : instruction.parts) count = std::max(count, action.microbatch + 1);
    }
  }
  return count;
}

// Parts that run as one.
struct Work {
  Instruction instruction;
  bool joined = false;  // with the one before it
};

// The compute parts of a rank's program. Parts of a composed instruction stay together only if they overlap.
std::vector<Work> compute_of(const RankProgram& program, bool together) {
  std::vector<Work> compute;
  for (const Instruction& instruction : program) {
    if (!is_compute(instruction.parts.front().kind)) continue;
    if (together) {
      compute.push_back({instruction});
    } else {
      for (std::size_t i = 0; i < instruction.parts.size(); ++i)
        compute.push_back({{{instruction.parts[i]}}, i > 0});
    }
  }
  return compute;
}

class Simulator {
 public:
  Simulator(const Program& program, const Topology& topology, const CostModel& costs)
      : topology_(topology),
        costs_(costs),
        next_(program.size()),
        clock_(program.size()),
        forward_end_(topology.num_stages(), microbatches_of(program), never_done),
        backward_end_(topology.num_stages(), microbatches_of(program), never_done) {
    for (const RankProgram& rank : program) {
      todo_.push_back(compute_of(rank, costs.overlap.has_value()));
    }
    result_.ranks.resize(program.size());
  }

  Simulation run() {
    for (std::size_t rank = todo_.size(); rank-- > 0;) awake_.push_back(rank);
    while (!awake_.empty()) {
      const std::size_t rank = awake_.back();
      awake_.pop_back();
      while (const auto start = start_of_head(rank)) finish_head(rank, *start);
    }
    refuse_deadlock();
    sum_up();
    return std::move(result_);
  }

 private:
  bool done(std::size_t rank) const { return next_[rank] == todo_[rank].size(); }
  const Instruction& head(std::size_t rank) const { return todo_[rank][next_[rank]].instruction; }

  // The stage whose action must have ended before this one can begin, or nothing.
  std::optional<int> upstream(const Action& action) const {
    if (action.kind == ActionKind::forward && !topology_.is_first(action.stage)) return action.stage - 1;
    const bool needs_gradient =
        action.kind == ActionKind::backward || action.kind == ActionKind::backward_input;
    if (needs_gradient && !topology_.is_last(action.stage)) return action.stage + 1;
    return {};
  }

  // The time at which the action's input arrives; never_done while its producer has not run.
  double arrival(const Action& action) const {
    const auto from = upstream(action);
    if (!from) return 0;
    const auto& ends = action.kind == ActionKind::forward ? forward_end_ : backward_end_;
    return ends.at(*from, action.microbatch) + costs_.transfer_between(*from, action.stage, topology_);
  }

  // Returns nothing when the rank is at its end, or its head waits for another rank.
  std::optional<double> start_of_head(std::size_t rank) const {
    if (done(rank)) return {};
    double start = clock_[rank];
    for (const Action& part : head(rank).parts) start = std::max(start, arrival(part));
    if (start == never_done) return {};
    return start;
  }

  void finish_head(std::size_t rank, double start) {
    const Instruction& instruction = head(rank);
    bool joined = todo_[rank][next_[rank]].joined;
    double sum = 0;
    double shortest = never_done;
    for (const Action& part : instruction.parts) {
      const double cost = costs_.stages[static_cast<std::size_t>(part.stage)].of(part.kind);
      sum += cost;
      shortest = std::min(shortest, cost);
    }
    if (instruction.parts.size() > 1) sum -= costs_.overlap.value_or(0) * shortest;
    clock_[rank] = start + costs_.overhead + sum;
    busy_ += sum;
    ++next_[rank];
    for (const Action& part : instruction.parts) {
      result_.ranks[rank].push_back({part, start, clock_[rank], std::exchange(joined, true)});
      deliver(part, rank, clock_[rank]);
    }
  }

  void deliver(const Action& action, std::size_t rank, double end) {
    int waiting = action.stage;
    if (action.kind == ActionKind::forward) {
      forward_end_.at(action.stage, action.microbatch) = end;
      waiting = action.stage + 1;
    } else if (action.kind != ActionKind::backward_weight) {
      backward_end_.at(action.stage, action.microbatch) = end;
      waiting = action.stage - 1;
    }
    if (waiting == action.stage || waiting < 0 || waiting == topology_.num_stages()) return;
    const auto woken = static_cast<std::size_t>(topology_.rank_of(waiting));
    if (woken != rank) awake_.push_back(woken);
  }

  void refuse_deadlock() const {
    std::string heads;
    for (std::size_t rank = 0; rank < todo_.size(); ++rank) {
      if (done(rank)) continue;
      for (const Action& part : head(rank).parts) {
        if (arrival(part) != never_done) continue;
        const bool forward = part.kind == ActionKind::forward;
        heads += fmt::format("; rank {} at {} waits for the {} of stage {} microbatch {}", rank,
                             to_string(part), forward ? "F" : "B or I", *upstream(part), part.microbatch);
      }
    }
    if (!heads.empty()) throw Error(ErrorKind::bug, "the pipeline program deadlocks" + heads);
  }

  void sum_up() {
    for (const auto& actions : result_.ranks) {
      int live = 0, live_peak = 0, pending = 0, pending_peak = 0, held_peak = 0;
      for (const SimulatedAction& a : actions) {
        result_.makespan = std::max(result_.makespan, a.end);
        if (a.action.kind == ActionKind::forward) live_peak = std::max(live_peak, ++live);
        if (a.action.kind == ActionKind::backward || a.action.kind == ActionKind::backward_input) --live;
        if (a.action.kind == ActionKind::backward_input) pending_peak = std::max(pending_peak, ++pending);
        if (a.action.kind == ActionKind::backward_weight) --pending;
        held_peak = std::max(held_peak, live + pending);
      }
      result_.peak_activations.push_back(live_peak);
      result_.peak_pending_weights.push_back(pending_peak);
      result_.peak_held.push_back(held_peak);
    }
    const double available = result_.makespan * static_cast<double>(todo_.size());
    result_.bubble = available > 0 ? std::max(0.0, 1 - busy_ / available) : 0;
  }

  const Topology& topology_;
  const CostModel& costs_;
  std::vector<std::vector<Work>> todo_;
  std::vector<std::size_t> next_;
  std::vector<double> clock_;
  std::vector<std::size_t> awake_;
  StageGrid<double> forward_end_, backward_end_;
  double busy_ = 0;
  Simulation result_;
};

}  // namespace

double StageCosts::of(ActionKind kind) const {
  switch (kind) {
    case ActionKind::forward:
      return forward;
    case ActionKind::backward:
      return backward();
    case ActionKind::backward_input:
      return backward_input;
    default:
      return backward_weight;
  }
}

double CostModel::transfer_between(int stage, int other, const Topology& topology) const {
  if (topology.same_rank(stage, other)) return 0;
  return transfers.empty() ? transfer : transfers[static_cast<std::size_t>(std::min(stage, other))];
}

CostModel unit_costs(const Topology& topology) {
  const double share = 1.0 / topology.stages_per_rank();
  CostModel costs;
  costs.stages.assign(static_cast<std::size_t>(topology.num_stages()), {share, share, share});
  return costs;
}

Simulation simulate(const Program& program, const Topology& topology, const CostModel& costs) {
  D9D_CHECK(static_cast<int>(program.size()) == topology.num_ranks(), "a program of {} ranks for {} ranks",
            program.size(), topology.num_ranks());
  D9D_REQUIRE(static_cast<int>(costs.stages.size()) == topology.num_stages(),
              "costs of {} stages given for {} stages", costs.stages.size(), topology.num_stages());
  D9D_REQUIRE(
      costs.transfers.empty() || static_cast<int>(costs.transfers.size()) == topology.num_stages() - 1,
      "{} transfer times given for the {} boundaries between stages", costs.transfers.size(),
      topology.num_stages() - 1);
  return Simulator(program, topology, costs).run();
}

}  // namespace d9d
