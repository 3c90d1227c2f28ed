#include "runtime/pipeline/program/order_search.hpp"

#include <algorithm>
#include <utility>

#include "runtime/base/rng.hpp"

namespace d9d {
namespace {

constexpr std::size_t memory_length = 60;  // costs remembered by the late acceptance

// The position of an action.
struct Place {
  std::size_t rank;
  std::size_t index;
};

// Smaller is better. The second number decides between equal makespans.
using Cost = std::pair<double, double>;

class Walk {
 public:
  Walk(const ActionOrder& order, const ActionTable& table, const SearchLimits& limits, std::uint64_t seed)
      : table_(table),
        limits_(limits),
        random_(seed, "pipeline schedule search"),
        times_(table),
        trial_(table),
        now_(order) {
    for (const auto& rank : order.ranks) num_actions_ += static_cast<std::int64_t>(rank.size());
    times_.compute(now_);
    cost_ = cost_of(times_);
    best_ = now_;
    best_cost_ = cost_;
    late_.assign(memory_length, cost_);
  }

  ActionOrder run() {
    const std::int64_t steps = limits_.actions_max / std::max<std::int64_t>(num_actions_, 1);
    for (std::int64_t step = 0; step < steps && best_cost_.first > limits_.enough; ++step) {
      if (path_.empty()) find_critical_path();
      if (change(path_[draw(path_.size())])) judge(static_cast<std::size_t>(step));
    }
    return std::move(best_);
  }

 private:
  std::size_t draw(std::size_t bound) {
    return static_cast<std::size_t>(random_.below(draws_++, static_cast<std::uint64_t>(bound)));
  }

  static Cost cost_of(const OrderTimes& times) { return {times.makespan(), times.sum_of_ends()}; }

  // Walks back from the end: each action of the path began when the previous one ended.
  void find_critical_path() {
    index_places();
    std::size_t rank = 0;
    for (std::size_t r = 0; r < now_.ranks.size(); ++r) {
      if (!now_.ranks[r].empty() && times_.end(now_.ranks[r].back()) >= times_.makespan()) rank = r;
    }
    for (int id = now_.ranks[rank].back(); id >= 0;) {
      const Place place = places_[static_cast<std::size_t>(id)];
      path_.push_back(place);
      const int from = table_.producer(id);
      const bool waited = from >= 0 && times_.end(from) + table_.transfer_before(id) >= times_.start(id) &&
                          times_.start(id) > 0;
      const int before = place.index > 0 ? now_.ranks[place.rank][place.index - 1] : -1;
      id = waited && (before < 0 || times_.end(before) < times_.start(id)) ? from : before;
    }
  }

  void index_places() {
    places_.resize(static_cast<std::size_t>(table_.size()));
    for (std::size_t rank = 0; rank < now_.ranks.size(); ++rank) {
      for (std::size_t i = 0; i < now_.ranks[rank].size(); ++i) {
        places_[static_cast<std::size_t>(now_.ranks[rank][i])] = {rank, i};
      }
    }
  }

  bool change(Place place) {
    switch (draw(4)) {
      case 0:
        return split_or_join(place);
      case 1:
        return move_far(place);
      default:
        return swap_with_next(place);
    }
  }

  // Whether `after` must stay after `before`: they are of one cell or one queue.
  bool tied(int before, int after) const {
    return table_.same_queue(before, after) || table_.cell(before) == table_.cell(after);
  }

  bool swap_with_next(Place place) {
    std::vector<int>& ids = now_.ranks[place.rank];
    if (place.index + 1 >= ids.size() || tied(ids[place.index], ids[place.index + 1])) return false;
    remember(place.rank);
    std::swap(ids[place.index], ids[place.index + 1]);
    return true;
  }

  // Moves an action to a random place, as far as its ties allow.
  bool move_far(Place place) {
    std::vector<int>& ids = now_.ranks[place.rank];
    std::size_t low = place.index, high = place.index;
    while (low > 0 && !tied(ids[low - 1], ids[place.index])) --low;
    while (high + 1 < ids.size() && !tied(ids[place.index], ids[high + 1])) ++high;
    const std::size_t to = low + draw(high - low + 1);
    if (to == place.index) return false;
    remember(place.rank);
    const auto at = [&](std::size_t i) { return ids.begin() + static_cast<std::ptrdiff_t>(i); };
    if (to < place.index) std::rotate(at(to), at(place.index), at(place.index + 1));
    if (to > place.index) std::rotate(at(place.index), at(place.index + 1), at(to + 1));
    return true;
  }

  // Splits a B into I and W, or joins an I and its W.
  bool split_or_join(Place place) {
    std::vector<int>& ids = now_.ranks[place.rank];
    const int id = ids[place.index];
    if (table_.kind(id) != ActionTable::gradient) return false;
    const int weight = table_.id(ActionTable::weight, table_.stage(id), table_.microbatch(id));
    remember(place.rank);
    char& split = now_.split[static_cast<std::size_t>(table_.cell(id))];
    split_cell_ = table_.cell(id);
    if (split) {
      ids.erase(std::find(ids.begin(), ids.end(), weight));
    } else {
      ids.insert(behind_older_weights(ids, place.index, weight), weight);
    }
    split = !split;
    return true;
  }

  // The place right after its I, or after the last W of an earlier microbatch.
  std::vector<int>::iterator behind_older_weights(std::vector<int>& ids, std::size_t gradient, int weight) {
    auto at = ids.begin() + static_cast<std::ptrdiff_t>(gradient) + 1;
    for (auto it = at; it != ids.end(); ++it) {
      if (table_.same_queue(*it, weight) && *it < weight) at = it + 1;
    }
    return at;
  }

  void remember(std::size_t rank) {
    undo_rank_ = rank;
    undo_ = now_.ranks[rank];
    split_cell_ = -1;
  }

  void judge(std::size_t step) {
    const bool runs =
        held_by(now_, undo_rank_, table_) <= limits_.held_max && weights_ascend() && trial_.compute(now_);
    const Cost next = runs ? cost_of(trial_) : Cost{};
    Cost& late = late_[step % memory_length];
    if (runs && (next <= cost_ || next <= late)) {
      accept(next);
    } else {
      take_back();
    }
    if (cost_ < late) late = cost_;
  }

  void accept(const Cost& next) {
    std::swap(times_, trial_);
    cost_ = next;
    path_.clear();
    if (cost_ >= best_cost_) return;
    best_cost_ = cost_;
    best_ = now_;
  }

  void take_back() {
    now_.ranks[undo_rank_].swap(undo_);
    if (split_cell_ < 0) return;
    char& split = now_.split[static_cast<std::size_t>(split_cell_)];
    split = !split;
  }

  // A full B adds weight gradients at its own place, so W and B of a stage have to ascend together.
  bool weights_ascend() const {
    std::vector<int> last(static_cast<std::size_t>(table_.topology().num_stages()), -1);
    for (const int id : now_.ranks[undo_rank_]) {
      const bool full =
          table_.kind(id) == ActionTable::gradient && !now_.split[static_cast<std::size_t>(table_.cell(id))];
      if (!full && table_.kind(id) != ActionTable::weight) continue;
      int& before = last[static_cast<std::size_t>(table_.stage(id))];
      if (table_.microbatch(id) < before) return false;
      before = table_.microbatch(id);
    }
    return true;
  }

  const ActionTable& table_;
  const SearchLimits limits_;
  const RandomStream random_;
  std::uint64_t draws_ = 0;
  std::int64_t num_actions_ = 0;
  OrderTimes times_, trial_;  // of now_, and of a change that is being judged
  ActionOrder now_, best_;
  Cost cost_, best_cost_;
  std::vector<Cost> late_;
  std::vector<Place> places_;  // of now_, by id
  std::vector<Place> path_;    // the critical path of now_; empty: not known
  // The last change, to be taken back.
  std::size_t undo_rank_ = 0;
  std::vector<int> undo_;
  int split_cell_ = -1;
};

}  // namespace

ActionOrder search_order(const ActionOrder& order, const ActionTable& table, const SearchLimits& limits,
                         std::uint64_t seed) {
  return Walk(order, table, limits, seed).run();
}

}  // namespace d9d
