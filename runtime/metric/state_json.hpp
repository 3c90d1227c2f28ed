#pragma once
// A metric's state in a checkpoint: `{"layout": "2 sum, 1 max", "values": [...]}`. Where most elements are neutral, "at"
// lists the indices of the others, and "values" holds these alone: a histogram of 20,000 bins stays small.
// All values come back bit for bit, infinities and NaN included (JSON has no numbers for them).

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/metric/metric.hpp"

namespace d9d {

nlohmann::json state_to_json(std::span<const ReduceOp> layout, std::span<const double> state);
// Nothing when it was written for another layout. A plain list of numbers, as earlier versions wrote it, fits any layout
// of its size. An input error, which begins with `name`, when it is neither.
std::optional<std::vector<double>> state_from_json(const nlohmann::json& json,
                                                   std::span<const ReduceOp> layout,
                                                   const std::string& name);

}  // namespace d9d
