#include "runtime/pipeline/program/list_schedule.hpp"

#include <algorithm>
#include <limits>
#include <queue>
#include <tuple>

#include "runtime/base/error.hpp"

namespace d9d {
namespace {

constexpr double not_ended = std::numeric_limits<double>::infinity();

class Scheduler {
 public:
  Scheduler(const ActionTable& table, const ListRules& rules)
      : table_(table),
        rules_(rules),
        ranks_(static_cast<std::size_t>(table.topology().num_ranks())),
        end_(static_cast<std::size_t>(table.size()), not_ended) {
    order_.ranks.resize(ranks_.size());
    order_.split.assign(static_cast<std::size_t>(table.cells()), rules.split ? 1 : 0);
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
      const auto stages = table.topology().stages_of(static_cast<int>(rank));
      for (const int stage : stages) ranks_[rank].stages.push_back({stage, 0, 0, 0});
      left_ += stages.size() * static_cast<std::size_t>(table.microbatches() * (rules.split ? 3 : 2));
      wake(rank, 0);
    }
  }

  ActionOrder run() {
    while (left_ > 0) {
      D9D_CHECK(!events_.empty(), "list scheduling cannot continue with {} actions left", left_);
      const auto [time, rank] = events_.top();
      events_.pop();
      if (time >= ranks_[rank].free) decide(rank, time);
    }
    return std::move(order_);
  }

 private:
  struct StageQueue {
    int stage;
    int next[3];  // microbatch by kind of action

    StageQueue(int s, int f, int g, int w) : stage(s), next{f, g, w} {}
  };
  struct Rank {
    std::vector<StageQueue> stages;  // in forward order
    double free = 0;
    int live = 0;     // between F and G
    int pending = 0;  // between G and W
    bool last_was_forward = false;
  };
  // A head that could run at `time`.
  struct Choice {
    int id = -1;
    double time = not_ended;
    std::size_t local = 0;
  };

  void wake(std::size_t rank, double time) { events_.push({time, rank}); }

  double arrival(int id) const {
    const int from = table_.producer(id);
    return from < 0 ? 0 : end_[static_cast<std::size_t>(from)] + table_.transfer_before(id);
  }

  bool has_room(const Rank& rank, std::size_t rank_index, std::size_t local) const {
    const auto reserve = static_cast<int>(rank.stages.size() - 1 - local);
    return rank.live + reserve < rules_.live_max[rank_index] &&
           rank.live + rank.pending + reserve < rules_.held_max;
  }

  // The priority of a forward: the smallest goes first.
  int forward_key(std::size_t local, std::size_t of, int microbatch) const {
    const int depth = static_cast<int>(of - 1 - local);
    if (rules_.forwards == ForwardOrder::depth_first) return depth;
    const int group = table_.topology().num_ranks();
    return (microbatch / group) * static_cast<int>(of) + static_cast<int>(local);
  }

  Choice best_forward(const Rank& rank, std::size_t index, double now) const {
    Choice best;
    int best_key = 0;
    for (std::size_t local = 0; local < rank.stages.size(); ++local) {
      const StageQueue& queue = rank.stages[local];
      const int microbatch = queue.next[ActionTable::forward];
      if (microbatch == table_.microbatches() || !has_room(rank, index, local)) continue;
      const int id = table_.id(ActionTable::forward, queue.stage, microbatch);
      const double time = std::max(now, arrival(id));
      const int key = forward_key(local, rank.stages.size(), microbatch);
      if (time == not_ended || std::tie(best.time, best_key) <= std::tie(time, key)) continue;
      best = {id, time, local};
      best_key = key;
    }
    return best;
  }

  Choice best_gradient(const Rank& rank, double now) const {
    Choice best;
    for (std::size_t local = rank.stages.size(); local-- > 0;) {
      const StageQueue& queue = rank.stages[local];
      const int microbatch = queue.next[ActionTable::gradient];
      if (microbatch >= queue.next[ActionTable::forward]) continue;
      const int id = table_.id(ActionTable::gradient, queue.stage, microbatch);
      const double time = std::max(now, arrival(id));
      if (time < best.time) best = {id, time, local};
    }
    return best;
  }

  // The W of the oldest microbatch; between stages, of the later one.
  Choice best_weight(const Rank& rank, double now) const {
    Choice best;
    int oldest = 0;
    for (std::size_t local = rank.stages.size(); rules_.split && local-- > 0;) {
      const StageQueue& queue = rank.stages[local];
      const int microbatch = queue.next[ActionTable::weight];
      if (microbatch >= queue.next[ActionTable::gradient]) continue;
      if (best.id >= 0 && oldest <= microbatch) continue;
      best = {table_.id(ActionTable::weight, queue.stage, microbatch), now, local};
      oldest = microbatch;
    }
    return best;
  }

  Choice choose(const Rank& rank, std::size_t index, double now) const {
    const Choice forward = best_forward(rank, index, now);
    const Choice gradient = best_gradient(rank, now);
    const Choice weight = best_weight(rank, now);
    const bool forward_first =
        rules_.prefer == Prefer::forward || (rules_.prefer == Prefer::alternate && !rank.last_was_forward);
    Choice next = forward_first ? forward : gradient;
    const Choice& other = forward_first ? gradient : forward;
    if (other.time < next.time) next = other;
    if (weight.id < 0) return next;
    if (rank.pending > rules_.pending_max[index]) return weight;
    const double cost =
        table_.costs().stages[static_cast<std::size_t>(table_.stage(weight.id))].backward_weight;
    return next.time > now && next.time - now >= rules_.patience * cost ? weight : next;
  }

  void decide(std::size_t index, double now) {
    Rank& rank = ranks_[index];
    const Choice choice = choose(rank, index, now);
    if (choice.id < 0) return;  // a producer will wake it
    if (choice.time > now) return wake(index, choice.time);
    start(rank, index, choice);
  }

  void start(Rank& rank, std::size_t index, const Choice& choice) {
    const auto kind = table_.kind(choice.id);
    const StageCosts& costs = table_.costs().stages[static_cast<std::size_t>(table_.stage(choice.id))];
    double cost = costs.forward;
    if (kind == ActionTable::gradient) cost = rules_.split ? costs.backward_input : costs.backward();
    if (kind == ActionTable::weight) cost = costs.backward_weight;
    rank.free = choice.time + cost + table_.costs().overhead;
    end_[static_cast<std::size_t>(choice.id)] = rank.free;
    ++rank.stages[choice.local].next[kind];
    if (kind == ActionTable::forward) ++rank.live;
    if (kind == ActionTable::gradient) --rank.live;
    if (kind == ActionTable::gradient && rules_.split) ++rank.pending;
    if (kind == ActionTable::weight) --rank.pending;
    if (kind != ActionTable::weight) rank.last_was_forward = kind == ActionTable::forward;
    order_.ranks[index].push_back(choice.id);
    --left_;
    wake(index, rank.free);
    const int to = table_.consumer(choice.id);
    if (to >= 0) wake(static_cast<std::size_t>(table_.rank(to)), rank.free + table_.transfer_before(to));
  }

  const ActionTable& table_;
  const ListRules& rules_;
  std::vector<Rank> ranks_;
  std::vector<double> end_;
  ActionOrder order_;
  std::size_t left_ = 0;
  using Event = std::pair<double, std::size_t>;  // time, rank
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
};

}  // namespace

ActionOrder list_schedule(const ActionTable& table, const ListRules& rules) {
  D9D_CHECK(rules.held_max >= table.topology().stages_per_rank(), "room for {} cells on ranks of {} stages",
            rules.held_max, table.topology().stages_per_rank());
  return Scheduler(table, rules).run();
}

}  // namespace d9d
