#pragma once
// A statistic of training as plain numbers: it accumulates locally, its state is a flat list of doubles that
// ranks reduce element by element, and its result is a pure function of a (reduced) state. So reducing never
// touches what is being accumulated and can be repeated. Objects belong to one actor; no torch, no threads.

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "runtime/comm/reduce_op.hpp"

namespace d9d {

// Name and value; the name is empty where a metric has a single result, and parts are joined by `/`.
using MetricValues = std::vector<std::pair<std::string, double>>;

class Metric {
 public:
  virtual ~Metric() = default;

  // How each element of the state is joined with the same element of another rank; the same on every rank.
  virtual std::vector<ReduceOp> layout() const = 0;
  virtual std::vector<double> state() const = 0;
  // A bug where the size differs from layout().size().
  virtual void load(std::span<const double> state) = 0;
  virtual MetricValues compute(std::span<const double> state) const = 0;
  virtual void reset() = 0;

  // Of the local state.
  MetricValues compute() const { return compute(state()); }
};

// into[i] = into[i] (sum, max or min) from[i]. A bug where the sizes differ.
void combine_states(std::span<const ReduceOp> layout, std::span<double> into, std::span<const double> from);

// The elements of a state parted by operation, so that two all-reduces (a sum and a maximum) do for a whole
// set of metrics. Minima travel as negated maxima.
struct PackedState {
  std::vector<double> sums;
  std::vector<double> maxima;
};
PackedState pack_state(std::span<const ReduceOp> layout, std::span<const double> state);
std::vector<double> unpack_state(std::span<const ReduceOp> layout, const PackedState& packed);

// For checkpoints: all values come back bit for bit, infinities and NaN included (JSON has no numbers for
// them).
nlohmann::json state_to_json(std::span<const double> state);
// An input error when it is no list of numbers of that size.
std::vector<double> state_from_json(const nlohmann::json& json, std::size_t size);

}  // namespace d9d
