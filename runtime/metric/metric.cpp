#include "runtime/metric/metric.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "runtime/base/error.hpp"

namespace d9d {
namespace {

double number_from(const nlohmann::json& element) {
  if (element.is_number()) return element.get<double>();
  if (element == "nan") return std::numeric_limits<double>::quiet_NaN();
  if (element == "inf") return std::numeric_limits<double>::infinity();
  if (element == "-inf") return -std::numeric_limits<double>::infinity();
  throw Error(ErrorKind::input, fmt::format("a metric's state has {}; expected a number", element.dump()));
}

}  // namespace

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

nlohmann::json state_to_json(std::span<const double> state) {
  nlohmann::json json = nlohmann::json::array();
  for (const double value : state) {
    if (std::isfinite(value)) {
      json.push_back(value);
    } else {
      json.push_back(std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf");
    }
  }
  return json;
}

std::vector<double> state_from_json(const nlohmann::json& json, std::size_t size) {
  D9D_REQUIRE(json.is_array() && json.size() == size,
              "a metric's state is {}; expected {} numbers. Was the checkpoint written with other metrics?",
              json.is_array() ? fmt::format("a list of {}", json.size()) : json.type_name(), size);
  std::vector<double> state;
  state.reserve(size);
  for (const auto& element : json) state.push_back(number_from(element));
  return state;
}

}  // namespace d9d
