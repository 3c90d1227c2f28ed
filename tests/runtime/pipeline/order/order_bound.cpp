#include "tests/runtime/pipeline/order/order_bound.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <queue>

#include "runtime/base/error.hpp"
#include "runtime/pipeline/order/stage_ledger.hpp"

namespace d9d {
namespace {

// What every order must keep: who waits for whom.
class ActionGraph {
 public:
  ActionGraph(const PipelineProgram& program, const OrderCosts& costs, int extra) : costs_(costs) {
    const Topology& topology = program.topology;
    for (const RankProgram& rank : program.compute) {
      for (const Instruction& instruction : rank) {
        for (const Action& action : instruction.parts) nodes_[action].cost = costs.duration(action);
      }
    }
    for (int stage = 0; stage < topology.num_stages(); ++stage) {
      const RankProgram& own = program.compute[static_cast<std::size_t>(topology.rank_of(stage))];
      add_stage(StageLedger(stage, own, program.num_microbatches, extra));
    }
    for (const auto& [action, node] : nodes_) add_inputs(action, topology);
    measure();
  }

  struct Job {
    double head, cost, tail;
  };
  std::vector<Job> jobs_of(const RankProgram& rank) const {
    std::vector<Job> jobs;
    for (const Instruction& instruction : rank) {
      for (const Action& action : instruction.parts) {
        const Node& node = nodes_.at(action);
        jobs.push_back({node.head, node.cost, node.tail});
      }
    }
    return jobs;
  }

 private:
  struct Node {
    double cost = 0, head = 0, tail = 0;
    std::vector<std::pair<Action, double>> next;  // and how long after its end
    int waits_for = 0;
  };

  void edge(const Action& from, const Action& to, double delay = 0) {
    nodes_.at(from).next.push_back({to, delay});
    ++nodes_.at(to).waits_for;
  }

  void add_stage(const StageLedger& stage) {
    for (const auto* queue : {&stage.forwards(), &stage.inputs(), &stage.weights()}) {
      for (std::size_t i = 1; i < queue->size(); ++i) edge((*queue)[i - 1], (*queue)[i]);
    }
    const auto cap = [&](const std::vector<Action>& later, const std::vector<Action>& earlier,
                         std::size_t most) {
      for (std::size_t i = most; i < later.size() && !earlier.empty(); ++i) {
        if (earlier[i - most] != later[i]) edge(earlier[i - most], later[i]);
      }
    };
    cap(stage.forwards(), stage.inputs(), stage.caps().live);
    cap(stage.forwards(), stage.weights(), stage.caps().held);
    if (stage.caps().pending > 0) cap(stage.inputs(), stage.weights(), stage.caps().pending);
  }

  void add_inputs(const Action& action, const Topology& topology) {
    const auto needs = [&](ActionKind kind, int stage) {
      const Action from{kind, stage, action.microbatch};
      const double delay = topology.same_rank(stage, action.stage) ? 0 : costs_.transfer;
      if (nodes_.contains(from)) edge(from, action, delay);
    };
    if (action.kind == ActionKind::backward_weight) return needs(ActionKind::backward_input, action.stage);
    if (action.kind == ActionKind::forward) {
      if (!topology.is_first(action.stage)) needs(ActionKind::forward, action.stage - 1);
      return;
    }
    needs(ActionKind::forward, action.stage);
    if (topology.is_last(action.stage)) return;
    needs(ActionKind::backward, action.stage + 1);
    needs(ActionKind::backward_input, action.stage + 1);
  }

  // Longest chains before and behind every action.
  void measure() {
    std::vector<Action> order;
    for (const auto& [action, node] : nodes_) {
      if (node.waits_for == 0) order.push_back(action);
    }
    for (std::size_t i = 0; i < order.size(); ++i) {
      const Node& node = nodes_.at(order[i]);
      for (const auto& [to, delay] : node.next) {
        Node& next = nodes_.at(to);
        next.head = std::max(next.head, node.head + node.cost + delay);
        if (--next.waits_for == 0) order.push_back(to);
      }
    }
    D9D_CHECK(order.size() == nodes_.size(), "a program's own rules contradict each other");
    for (std::size_t i = order.size(); i-- > 0;) {
      Node& node = nodes_.at(order[i]);
      for (const auto& [to, delay] : node.next) {
        node.tail = std::max(node.tail, delay + nodes_.at(to).cost + nodes_.at(to).tail);
      }
    }
  }

  const OrderCosts& costs_;
  std::map<Action, Node> nodes_;
};

// The one with the longest tail first, interrupted whenever another one's head has passed.
double on_one_machine(std::vector<ActionGraph::Job> jobs) {
  std::sort(jobs.begin(), jobs.end(), [](const auto& a, const auto& b) { return a.head < b.head; });
  using Open = std::pair<double, double>;  // tail, cost left
  std::priority_queue<Open> open;
  double now = 0, end = 0;
  for (std::size_t next = 0; next < jobs.size() || !open.empty();) {
    if (open.empty()) now = std::max(now, jobs[next].head);
    while (next < jobs.size() && jobs[next].head <= now) {
      open.push({jobs[next].tail, jobs[next].cost});
      ++next;
    }
    const auto [tail, left] = open.top();
    open.pop();
    const double until = next < jobs.size() ? jobs[next].head : std::numeric_limits<double>::infinity();
    if (now + left <= until) {
      now += left;
      end = std::max(end, now + tail);
    } else {
      open.push({tail, left - (until - now)});
      now = until;
    }
  }
  return end;
}

}  // namespace

double order_bound(const PipelineProgram& program, const OrderCosts& costs, int extra_activations) {
  const ActionGraph graph(program, costs, extra_activations);
  double bound = 0;
  for (const RankProgram& rank : program.compute) {
    bound = std::max(bound, on_one_machine(graph.jobs_of(rank)));
  }
  return bound;
}

}  // namespace d9d
