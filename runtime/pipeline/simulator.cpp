#include "runtime/pipeline/simulator.hpp"

#include <algorithm>
#include <limits>
#include <optional>

#include "runtime/base/error.hpp"
#include "runtime/pipeline/program/stage_grid.hpp"

namespace d9d {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

int microbatches_of(const Program& program) {
  int count = 0;
  for (const RankProgram& rank : program) {
    for (const Instruction& instruction : rank) {
      for (const Action& action : instruction.parts) count = std::max(count, action.microbatch + 1);
    }
  }
  return count;
}

double cost_of(ActionKind kind, const StageCosts& costs) {
  switch (kind) {
    case ActionKind::forward:
      return costs.forward;
    case ActionKind::backward:
      return costs.backward_input + costs.backward_weight;
    case ActionKind::backward_input:
      return costs.backward_input;
    default:
      return costs.backward_weight;
  }
}

class Simulator {
 public:
  Simulator(const Program& program, const Topology& topology, const CostModel& costs)
      : topology_(topology),
        costs_(costs),
        todo_(program.size()),
        clock_(program.size()),
        forward_end_(topology.num_stages(), microbatches_of(program), kNever),
        backward_end_(topology.num_stages(), microbatches_of(program), kNever) {
    for (std::size_t rank = 0; rank < program.size(); ++rank) {
      for (const Instruction& instruction : program[rank]) {
        for (const Action& action : instruction.parts) {
          if (is_compute(action.kind)) todo_[rank].push_back(action);
        }
      }
    }
    result_.ranks.resize(program.size());
  }

  Simulation run() {
    std::vector<std::size_t> awake;
    for (std::size_t rank = todo_.size(); rank-- > 0;) awake.push_back(rank);
    while (!awake.empty()) {
      const std::size_t rank = awake.back();
      awake.pop_back();
      while (const auto start = start_of_head(rank)) {
        const auto woken = finish_head(rank, *start);
        if (woken && *woken != rank) awake.push_back(*woken);
      }
    }
    refuse_deadlock();
    sum_up();
    return std::move(result_);
  }

 private:
  std::size_t done(std::size_t rank) const { return result_.ranks[rank].size(); }

  // The stage whose action must have ended before, or nothing.
  std::optional<int> upstream(const Action& action) const {
    if (action.kind == ActionKind::forward && !topology_.is_first(action.stage)) return action.stage - 1;
    const bool needs_gradient =
        action.kind == ActionKind::backward || action.kind == ActionKind::backward_input;
    if (needs_gradient && !topology_.is_last(action.stage)) return action.stage + 1;
    return {};
  }

  // Nothing when the rank is at its end or its head waits for another rank.
  std::optional<double> start_of_head(std::size_t rank) const {
    if (done(rank) == todo_[rank].size()) return {};
    const Action& head = todo_[rank][done(rank)];
    const auto from = upstream(head);
    if (!from) return clock_[rank];
    const auto& ends = head.kind == ActionKind::forward ? forward_end_ : backward_end_;
    const double produced = ends.at(*from, head.microbatch);
    if (produced == kNever) return {};
    return std::max(clock_[rank], produced + (topology_.same_rank(*from, head.stage) ? 0 : costs_.transfer));
  }

  // The rank that may go on now, if any.
  std::optional<std::size_t> finish_head(std::size_t rank, double start) {
    const Action& head = todo_[rank][done(rank)];
    const double end =
        start + costs_.overhead + cost_of(head.kind, costs_.stages[static_cast<std::size_t>(head.stage)]);
    result_.ranks[rank].push_back({head, start, end});
    clock_[rank] = end;
    int waiting = head.stage;
    if (head.kind == ActionKind::forward) {
      forward_end_.at(head.stage, head.microbatch) = end;
      waiting = head.stage + 1;
    } else if (head.kind != ActionKind::backward_weight) {
      backward_end_.at(head.stage, head.microbatch) = end;
      waiting = head.stage - 1;
    }
    if (waiting == head.stage || waiting < 0 || waiting == topology_.num_stages()) return {};
    return static_cast<std::size_t>(topology_.rank_of(waiting));
  }

  void refuse_deadlock() const {
    std::string heads;
    for (std::size_t rank = 0; rank < todo_.size(); ++rank) {
      if (done(rank) == todo_[rank].size()) continue;
      const Action& head = todo_[rank][done(rank)];
      const bool forward = head.kind == ActionKind::forward;
      heads += fmt::format("; rank {} at {} waits for the {} of stage {} microbatch {}", rank,
                           to_string(head), forward ? "F" : "B or I", *upstream(head), head.microbatch);
    }
    if (!heads.empty()) throw Error(ErrorKind::bug, "the pipeline program deadlocks" + heads);
  }

  void sum_up() {
    double busy = 0;
    for (const auto& actions : result_.ranks) {
      int live = 0, live_peak = 0, pending = 0, pending_peak = 0;
      for (const SimulatedAction& a : actions) {
        result_.makespan = std::max(result_.makespan, a.end);
        busy += a.end - a.start - costs_.overhead;
        if (a.action.kind == ActionKind::forward) live_peak = std::max(live_peak, ++live);
        if (a.action.kind == ActionKind::backward || a.action.kind == ActionKind::backward_input) --live;
        if (a.action.kind == ActionKind::backward_input) pending_peak = std::max(pending_peak, ++pending);
        if (a.action.kind == ActionKind::backward_weight) --pending;
      }
      result_.peak_activations.push_back(live_peak);
      result_.peak_pending_weights.push_back(pending_peak);
    }
    const double available = result_.makespan * static_cast<double>(todo_.size());
    result_.bubble = available > 0 ? std::max(0.0, 1 - busy / available) : 0;
  }

  const Topology& topology_;
  const CostModel& costs_;
  std::vector<std::vector<Action>> todo_;
  std::vector<double> clock_;
  StageGrid<double> forward_end_, backward_end_;
  Simulation result_;
};

}  // namespace

CostModel unit_costs(const Topology& topology) {
  const double share = 1.0 / topology.stages_per_rank();
  return {std::vector<StageCosts>(static_cast<std::size_t>(topology.num_stages()), {share, share, share}), 0,
          0};
}

Simulation simulate(const Program& program, const Topology& topology, const CostModel& costs) {
  D9D_CHECK(static_cast<int>(program.size()) == topology.num_ranks(), "a program of {} ranks for {} ranks",
            program.size(), topology.num_ranks());
  D9D_REQUIRE(static_cast<int>(costs.stages.size()) == topology.num_stages(),
              "costs of {} stages given for {} stages", costs.stages.size(), topology.num_stages());
  return Simulator(program, topology, costs).run();
}

}  // namespace d9d
