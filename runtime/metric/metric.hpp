#pragma once
// A statistic of training as plain numbers. It accumulates locally, its state is a flat list of doubles that
// ranks reduce element by element, and its result is a pure function of a (reduced) state. So reducing never
// touches what is being accumulated and can be repeated. An object is used by one thread at a time; no torch.
// Tasks of plugins may bring other metrics: the framework needs the five functions below, and the
// task that declares a metric calls whatever update() it has.

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "runtime/comm/reduce_op.hpp"

namespace d9d {

// The value of an element before anything was counted: 0, -infinity, +infinity.
double neutral(ReduceOp reduce);

// Name and value; the name is empty where a metric has a single result, and parts are joined by `/`.
using MetricValues = std::vector<std::pair<std::string, double>>;

// How often values lay in [edges[i], edges[i + 1]).
struct NamedHistogram {
  std::string name;  // as in MetricValues
  std::vector<double> edges;
  std::vector<double> counts;  // one element less
};

class Metric {
 public:
  virtual ~Metric() = default;

  // One operation per element of the state; the same on every rank and at all times.
  virtual std::vector<ReduceOp> layout() const = 0;
  virtual std::vector<double> state() const = 0;
  // Continues from this state. A bug: its size differs from layout().size().
  virtual void load(std::span<const double> state) = 0;
  // Returns the values to report for a state that was reduced over all ranks.
  virtual MetricValues compute(std::span<const double> state) const = 0;
  // Returns the histograms of such a state; most metrics have none.
  virtual std::vector<NamedHistogram> histograms(std::span<const double> /*state*/) const { return {}; }
  // Makes every element neutral, as in a new object.
  virtual void reset() = 0;

  // The values of the local state.
  MetricValues compute() const { return compute(state()); }
};

// into[i] = into[i] (sum, max or min) from[i]. A bug where the sizes differ.
void combine_states(std::span<const ReduceOp> layout, std::span<double> into, std::span<const double> from);

// The elements of a state, separated by operation, so that two all-reduces (a sum and a maximum)
// are enough for a whole set of metrics. Minima travel as negated maxima.
struct PackedState {
  std::vector<double> sums;
  std::vector<double> maxima;
};
PackedState pack_state(std::span<const ReduceOp> layout, std::span<const double> state);
std::vector<double> unpack_state(std::span<const ReduceOp> layout, const PackedState& packed);

}  // namespace d9d
