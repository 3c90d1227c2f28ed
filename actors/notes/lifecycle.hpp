#pragma once
// The one state of an actor, and the table of what follows it. The table is data: the actor obeys it, people read
// it, and tests walk it.

#include <algorithm>
#include <array>
#include <span>

#include "runtime/base/error.hpp"

namespace d9d {

// A row: in each state of `from`, `by` leads to `to`.
template <class State>
struct Transition {
  struct States {
    State first, last;  // one state, or all from the first to the last in the order of the enum
    constexpr States(State only) : first(only), last(only) {}
    constexpr States(State first_one, State last_one) : first(first_one), last(last_one) {}
    constexpr bool contain(State state) const { return first <= state && state <= last; }
  };
  States from;
  const char* by;  // the message, and what it has to find
  State to;
};

template <class State>
class Lifecycle {
 public:
  using Table = std::span<const Transition<State>>;
  Lifecycle(State first, Table table) : now_(first), table_(table) {}

  operator State() const { return now_; }
  // Bug error, with the names of both states, when no row of the table leads there.
  void become(State next) {
    const bool follows = std::ranges::any_of(
        table_, [&](const Transition<State>& row) { return row.from.contain(now_) && row.to == next; });
    D9D_CHECK(follows, "\"{}\" cannot follow \"{}\"", name_of(next), name_of(now_));
    now_ = next;
  }

 private:
  State now_;
  Table table_;
};

}  // namespace d9d
