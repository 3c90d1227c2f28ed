#include "runtime/metric/metric.hpp"

#include <algorithm>
#include <limits>

#include "runtime/base/error.hpp"

namespace d9d {

double neutral(ReduceOp reduce) {
  if (reduce == ReduceOp::sum) return 0;
  const double infinity = std::numeric_limits<double>::infinity();
  return reduce == ReduceOp::max ? -infinity : infinity;
}

void combine_states(std::span<const ReduceOp> layout, std::span<double> into, std::span<const double> from) {
  D9D_CHECK(layout.size() == into.size() && into.size() == from.size(),
            "states of {} and {} elements for a layout of {}", into.size(), from.size(), layout.size());
  for (std::size_t i = 0; i < layout.size(); ++i) {
    switch (layout[i]) {
      case ReduceOp::sum:
        into[i] += from[i];
        break;
      case ReduceOp::max:
        into[i] = std::max(into[i], from[i]);
        break;
      case ReduceOp::min:
        into[i] = std::min(into[i], from[i]);
        break;
    }
  }
}

PackedState pack_state(std::span<const ReduceOp> layout, std::span<const double> state) {
  D9D_CHECK(layout.size() == state.size(), "a state of {} elements for a layout of {}", state.size(),
            layout.size());
  PackedState packed;
  for (std::size_t i = 0; i < layout.size(); ++i) {
    if (layout[i] == ReduceOp::sum) packed.sums.push_back(state[i]);
    if (layout[i] == ReduceOp::max) packed.maxima.push_back(state[i]);
    if (layout[i] == ReduceOp::min) packed.maxima.push_back(-state[i]);
  }
  return packed;
}

std::vector<double> unpack_state(std::span<const ReduceOp> layout, const PackedState& packed) {
  D9D_CHECK(layout.size() == packed.sums.size() + packed.maxima.size(),
            "{} sums and {} maxima for a layout of {}", packed.sums.size(), packed.maxima.size(),
            layout.size());
  std::vector<double> state;
  state.reserve(layout.size());
  auto sum = packed.sums.begin();
  auto maximum = packed.maxima.begin();
  for (const ReduceOp reduce : layout) {
    if (reduce == ReduceOp::sum) {
      D9D_CHECK(sum != packed.sums.end(), "too few sums for the layout");
      state.push_back(*sum++);
    } else {
      D9D_CHECK(maximum != packed.maxima.end(), "too few maxima for the layout");
      state.push_back(reduce == ReduceOp::max ? *maximum : -*maximum);
      ++maximum;
    }
  }
  return state;
}

}  // namespace d9d
