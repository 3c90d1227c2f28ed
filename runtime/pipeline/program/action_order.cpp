#include "runtime/pipeline/program/action_order.hpp"

#include <algorithm>
#include <deque>
#include <limits>

#include "runtime/base/error.hpp"

namespace d9d {
namespace {

constexpr double never = std::numeric_limits<double>::infinity();

ActionKind kind_of(int id, const ActionOrder& order, const ActionTable& table) {
  switch (table.kind(id)) {
    case ActionTable::forward:
      return ActionKind::forward;
    case ActionTable::weight:
      return ActionKind::backward_weight;
    default:
      return order.split[static_cast<std::size_t>(table.cell(id))] ? ActionKind::backward_input
                                                                   : ActionKind::backward;
  }
}

}  // namespace

ActionTable::ActionTable(const Topology& topology, int microbatches, const CostModel& costs)
    : topology_(topology),
      microbatches_(microbatches),
      costs_(costs),
      cells_(topology.num_stages() * microbatches) {
  for (const Kind kind : {forward, gradient, weight}) {
    for (int stage = 0; stage < topology_.num_stages(); ++stage) {
      for (int mb = 0; mb < microbatches; ++mb) facts_.push_back(facts_of(kind, stage, mb));
    }
  }
}

ActionTable::Facts ActionTable::facts_of(Kind kind, int stage, int microbatch) const {
  Facts facts{kind, stage, microbatch, topology_.rank_of(stage), -1, -1, 0};
  if (kind == weight) return facts;
  const int from = kind == forward ? stage - 1 : stage + 1;
  const int to = kind == forward ? stage + 1 : stage - 1;
  const auto exists = [&](int other) { return other >= 0 && other < topology_.num_stages(); };
  if (exists(to)) facts.consumer = id(kind, to, microbatch);
  if (exists(from)) {
    facts.producer = id(kind, from, microbatch);
    facts.transfer_before = costs_.transfer_between(from, stage, topology_);
  }
  return facts;
}

ActionOrder order_of(const Program& compute, const ActionTable& table) {
  const auto stages = static_cast<std::size_t>(table.topology().num_stages());
  ActionOrder order{{}, std::vector<char>(static_cast<std::size_t>(table.cells()))};
  std::vector<int> forwards(stages), gradients(stages);
  std::vector<std::deque<int>> pending(stages);  // microbatches whose W has not come yet
  const auto id_of = [&](const Action& action) {
    const auto stage = static_cast<std::size_t>(action.stage);
    if (action.kind == ActionKind::forward)
      return table.id(ActionTable::forward, action.stage, forwards[stage]++);
    if (action.kind == ActionKind::backward_weight) {
      const int microbatch = pending[stage].front();
      pending[stage].pop_front();
      return table.id(ActionTable::weight, action.stage, microbatch);
    }
    const int microbatch = gradients[stage]++;
    if (action.kind == ActionKind::backward_input) {
      pending[stage].push_back(microbatch);
      order.split[static_cast<std::size_t>(table.cell(action.stage, microbatch))] = 1;
    }
    return table.id(ActionTable::gradient, action.stage, microbatch);
  };
  for (const RankProgram& rank : compute) {
    order.ranks.emplace_back();
    for (const Instruction& instruction : rank) {
      for (const Action& action : instruction.parts) order.ranks.back().push_back(id_of(action));
    }
  }
  return order;
}

Program program_of(const ActionOrder& order, const ActionTable& table) {
  Program program;
  for (const std::vector<int>& rank : order.ranks) {
    program.emplace_back();
    for (const int id : rank) {
      program.back().push_back({{{kind_of(id, order, table), table.stage(id), table.microbatch(id)}}});
    }
  }
  return program;
}

int held_by(const ActionOrder& order, std::size_t rank, const ActionTable& table) {
  int held = 0, peak = 0;
  for (const int id : order.ranks[rank]) {
    switch (table.kind(id)) {
      case ActionTable::forward:
        peak = std::max(peak, ++held);
        break;
      case ActionTable::weight:
        --held;
        break;
      default:
        if (!order.split[static_cast<std::size_t>(table.cell(id))]) --held;
    }
  }
  return peak;
}

OrderTimes::OrderTimes(const ActionTable& table)
    : table_(&table),
      start_(static_cast<std::size_t>(table.size())),
      end_(start_.size()),
      next_(static_cast<std::size_t>(table.topology().num_ranks())),
      clock_(next_.size()) {
  for (int id = 0; id < table.size(); ++id) {
    const StageCosts& costs = table.costs().stages[static_cast<std::size_t>(table.stage(id))];
    const ActionKind kinds[] = {ActionKind::forward, ActionKind::backward_input, ActionKind::backward_weight};
    cost_.push_back(costs.of(kinds[table.kind(id)]) + table.costs().overhead);
  }
  for (const StageCosts& costs : table.costs().stages) {
    full_.push_back(costs.backward() + table.costs().overhead);
  }
}

double OrderTimes::duration(int id, const ActionOrder& order) const {
  const bool full =
      table_->kind(id) == ActionTable::gradient && !order.split[static_cast<std::size_t>(table_->cell(id))];
  return full ? full_[static_cast<std::size_t>(table_->stage(id))] : cost_[static_cast<std::size_t>(id)];
}

bool OrderTimes::compute(const ActionOrder& order) {
  std::fill(end_.begin(), end_.end(), never);
  std::fill(next_.begin(), next_.end(), 0);
  std::fill(clock_.begin(), clock_.end(), 0);
  awake_.clear();
  std::size_t left = 0;
  for (std::size_t rank = 0; rank < order.ranks.size(); ++rank) {
    awake_.push_back(static_cast<int>(rank));
    left += order.ranks[rank].size();
  }
  while (!awake_.empty()) {
    const auto rank = static_cast<std::size_t>(awake_.back());
    awake_.pop_back();
    const std::vector<int>& ids = order.ranks[rank];
    for (; next_[rank] < ids.size(); ++next_[rank], --left) {
      const int id = ids[next_[rank]];
      const int from = table_->producer(id);
      double begin = clock_[rank];
      if (from >= 0)
        begin = std::max(begin, end_[static_cast<std::size_t>(from)] + table_->transfer_before(id));
      if (begin == never) break;
      start_[static_cast<std::size_t>(id)] = begin;
      clock_[rank] = end_[static_cast<std::size_t>(id)] = begin + duration(id, order);
      const int to = table_->consumer(id);
      if (to >= 0 && table_->rank(to) != static_cast<int>(rank)) awake_.push_back(table_->rank(to));
    }
  }
  if (left > 0) return false;
  makespan_ = *std::max_element(clock_.begin(), clock_.end());
  sum_of_ends_ = 0;
  for (const double end : clock_) sum_of_ends_ += end;
  return true;
}

}  // namespace d9d
