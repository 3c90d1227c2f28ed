#pragma once
// Programs in the compact form that the search of auto_schedule works on: numbered actions, an order per
// rank, and times in one linear pass without allocations. Every stage takes microbatches in ascending order
// in F, in the gradient action G (an I, or a B when W is not split off) and in W, so that every program sums
// gradients in the same order. Internal to program/.

#include <vector>

#include "runtime/pipeline/simulated/simulator.hpp"

namespace d9d {

// The actions of a pipeline by number: their costs, and the actions for which they wait.
class ActionTable {
 public:
  enum Kind { forward, gradient, weight };

  ActionTable(const Topology& topology, int microbatches, const CostModel& costs);

  int size() const { return 3 * cells_; }
  int cells() const { return cells_; }  // (stage, microbatch) pairs
  int microbatches() const { return microbatches_; }
  const Topology& topology() const { return topology_; }
  const CostModel& costs() const { return costs_; }

  int id(Kind kind, int stage, int microbatch) const {
    return static_cast<int>(kind) * cells_ + stage * microbatches_ + microbatch;
  }
  int cell(int stage, int microbatch) const { return stage * microbatches_ + microbatch; }
  Kind kind(int id) const { return facts(id).kind; }
  int stage(int id) const { return facts(id).stage; }
  int microbatch(int id) const { return facts(id).microbatch; }
  int cell(int id) const { return cell(stage(id), microbatch(id)); }
  int rank(int id) const { return facts(id).rank; }
  // Whether two actions are of the same stage and kind. Such actions keep their order.
  bool same_queue(int a, int b) const { return kind(a) == kind(b) && stage(a) == stage(b); }

  // The action on another stage whose output this one needs, and the one that
  // needs this one's output; -1: none.
  int producer(int id) const { return facts(id).producer; }
  int consumer(int id) const { return facts(id).consumer; }
  // The time from the end of the producer until the action may begin.
  double transfer_before(int id) const { return facts(id).transfer_before; }

 private:
  const Topology topology_;
  const int microbatches_;
  const CostModel costs_;
  const int cells_;
  struct Facts {
    Kind kind;
    int stage, microbatch, rank, producer, consumer;
    double transfer_before;
  };
  const Facts& facts(int id) const { return facts_[static_cast<std::size_t>(id)]; }
  Facts facts_of(Kind kind, int stage, int microbatch) const;
  std::vector<Facts> facts_;
};

// A program in the form that the search changes. It has no W for a cell that is not split.
struct ActionOrder {
  std::vector<std::vector<int>> ranks;
  std::vector<char> split;  // by cell
};

// Converts a program. Renames microbatches so that they ascend in every queue, which changes no time, and
// splits composed actions into single ones.
ActionOrder order_of(const Program& compute, const ActionTable& table);
Program program_of(const ActionOrder& order, const ActionTable& table);
// The most cells that `rank` holds between F and the end of their B or W.
int held_by(const ActionOrder& order, std::size_t rank, const ActionTable& table);

// Computes the times of an order. Keeps its buffers from call to call.
class OrderTimes {
 public:
  explicit OrderTimes(const ActionTable& table);

  // Returns false when the order deadlocks; the times are then invalid.
  bool compute(const ActionOrder& order);

  double makespan() const { return makespan_; }
  double sum_of_ends() const { return sum_of_ends_; }  // over the ranks
  double start(int id) const { return start_[static_cast<std::size_t>(id)]; }
  double end(int id) const { return end_[static_cast<std::size_t>(id)]; }
  double duration(int id, const ActionOrder& order) const;

 private:
  const ActionTable* table_;
  std::vector<double> cost_;  // by id; a G that is not split costs full_
  std::vector<double> full_;  // by stage
  std::vector<double> start_, end_;
  std::vector<std::size_t> next_;
  std::vector<double> clock_;
  std::vector<int> awake_;
  double makespan_ = 0;
  double sum_of_ends_ = 0;
};

}  // namespace d9d
