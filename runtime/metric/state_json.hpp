#pragma once
// A metric's state in a checkpoint: `{"layout": "2 sum, 1 max", "values": [...]}`. If most elements
// are neutral, "at" lists the indices of the others and "values" has only these, so that a
// histogram of 20,000 bins stays small. All values are restored bit for bit, infinities and NaN
// included (JSON has no numbers for them).

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/metric/metric.hpp"

namespace d9d {

nlohmann::json state_to_json(std::span<const ReduceOp> layout, std::span<const double> state);
// Reads a state. Nothing if it was written for another layout. A plain list of numbers, which
// earlier versions wrote, fits any layout of its size. Input error that begins with `name`:
// the JSON is neither.
std::optional<std::vector<double>> state_from_json(const nlohmann::json& json,
                                                   std::span<const ReduceOp> layout, const std::string& name);

}  // namespace d9d
