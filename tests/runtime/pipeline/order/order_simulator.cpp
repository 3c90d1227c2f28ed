#include "tests/runtime/pipeline/order/order_simulator.hpp"

#include <algorithm>
#include <queue>
#include <set>

#include "runtime/base/error.hpp"

namespace d9d {
namespace {

// What an action waits for: the same action once its input has arrived.
struct Arrival {
  double time;
  Action consumer;
};

class OrderSimulator {
 public:
  OrderSimulator(const PipelineProgram& program, CursorOrder order, const OrderCosts& costs,
                 int extra_activations)
      : program_(program), costs_(costs), free_at_(program.compute.size()), wake_at_(program.compute.size()) {
    const std::shared_ptr<const PipelineProgram> unowned(std::shared_ptr<void>(), &program);
    for (std::size_t rank = 0; rank < program.compute.size(); ++rank) {
      cursors_.push_back(make_cursor(order, static_cast<int>(rank), extra_activations));
      cursors_.back()->start(unowned);
      for (const Instruction& instruction : program.compute[rank]) left_ += instruction.parts.size();
    }
    result_.ranks.resize(program.compute.size());
  }

  Simulation run() {
    double now = 0;
    while (true) {
      while (!on_the_way_.empty() && on_the_way_.top().time <= now) {
        arrived_.insert(on_the_way_.top().consumer);
        on_the_way_.pop();
      }
      for (std::size_t rank = 0; rank < cursors_.size(); ++rank) start(rank, now);
      const double next = next_event(now);
      if (next <= now) break;
      now = next;
    }
    D9D_CHECK(left_ == 0, "the pipeline deadlocks: {} actions cannot run", left_);
    sum_up();
    return std::move(result_);
  }

 private:
  const Topology& topology() const { return program_.topology; }

  bool ready(const Action& action) const {
    if (action.kind == ActionKind::backward_weight) return true;  // the cursor knows its I
    const bool first = action.kind == ActionKind::forward ? topology().is_first(action.stage)
                                                          : topology().is_last(action.stage);
    return first || arrived_.contains(action);
  }

  void start(std::size_t rank, double now) {
    while (free_at_[rank] <= now) {
      const auto chosen =
          cursors_[rank]->advance([this](const Action& action) { return ready(action); }, now);
      wake_at_[rank] = cursors_[rank]->next_wakeup().value_or(0);
      if (!chosen) return;
      double begin = now;
      for (const Action& action : chosen->parts) {
        const double end = begin + costs_.duration(action);
        result_.ranks[rank].push_back({action, begin, end});
        deliver(action, end);
        begin = end;
        --left_;
      }
      free_at_[rank] = begin;
    }
  }

  void deliver(const Action& action, double end) {
    if (action.kind == ActionKind::backward_weight) return;
    const bool forward = action.kind == ActionKind::forward;
    const int to = action.stage + (forward ? 1 : -1);
    if (to < 0 || to == topology().num_stages()) return;
    const double time = end + (topology().same_rank(action.stage, to) ? 0 : costs_.transfer);
    // The consumer of a gradient may be a B or an I.
    if (forward) {
      on_the_way_.push({time, {ActionKind::forward, to, action.microbatch}});
    } else {
      on_the_way_.push({time, {ActionKind::backward, to, action.microbatch}});
      on_the_way_.push({time, {ActionKind::backward_input, to, action.microbatch}});
    }
  }

  // `now` when nothing is going to happen any more.
  double next_event(double now) const {
    double next = now;
    const auto consider = [&](double time) {
      if (time > now && (next == now || time < next)) next = time;
    };
    if (!on_the_way_.empty()) consider(on_the_way_.top().time);
    for (const double time : free_at_) consider(time);
    for (const double time : wake_at_) consider(time);
    return next;
  }

  void sum_up() {
    double busy = 0;
    for (const auto& actions : result_.ranks) {
      int live = 0, live_peak = 0, pending = 0, pending_peak = 0, held_peak = 0;
      for (const auto& [action, start, end, joined] : actions) {
        result_.makespan = std::max(result_.makespan, end);
        busy += end - start;
        if (action.kind == ActionKind::forward) live_peak = std::max(live_peak, ++live);
        if (action.kind == ActionKind::backward || action.kind == ActionKind::backward_input) --live;
        if (action.kind == ActionKind::backward_input) pending_peak = std::max(pending_peak, ++pending);
        if (action.kind == ActionKind::backward_weight) --pending;
        held_peak = std::max(held_peak, live + pending);
      }
      result_.peak_activations.push_back(live_peak);
      result_.peak_pending_weights.push_back(pending_peak);
      result_.peak_held.push_back(held_peak);
    }
    const double available = result_.makespan * static_cast<double>(result_.ranks.size());
    result_.bubble = available > 0 ? std::max(0.0, 1 - busy / available) : 0;
  }

  struct Later {
    bool operator()(const Arrival& a, const Arrival& b) const { return a.time > b.time; }
  };

  const PipelineProgram& program_;
  const OrderCosts& costs_;
  std::vector<std::unique_ptr<ActionCursor>> cursors_;
  std::vector<double> free_at_;
  std::vector<double> wake_at_;  // when its cursor wants to be asked again
  std::priority_queue<Arrival, std::vector<Arrival>, Later> on_the_way_;
  std::set<Action> arrived_;
  std::size_t left_ = 0;
  Simulation result_;
};

}  // namespace

Simulation simulate_order(const PipelineProgram& program, CursorOrder order, const OrderCosts& costs,
                          int extra_activations) {
  return OrderSimulator(program, order, costs, extra_activations).run();
}

}  // namespace d9d
