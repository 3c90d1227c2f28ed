#include "runtime/metric/state_json.hpp"

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "runtime/base/error.hpp"
#include "runtime/base/json_text.hpp"

namespace d9d {
namespace {

// "20000 sum, 1 max"
std::string layout_text(std::span<const ReduceOp> layout) {
  std::string text;
  for (std::size_t begin = 0, end = 0; begin < layout.size(); begin = end) {
    while (end < layout.size() && layout[end] == layout[begin]) ++end;
    text += fmt::format("{}{} {}", begin == 0 ? "" : ", ", end - begin, name_of(layout[begin]));
  }
  return text;
}

nlohmann::json json_number(double value) {
  if (std::isfinite(value)) return value;
  return std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
}

double number_from(const nlohmann::json& element, const std::string& name) {
  if (element.is_number()) return element.get<double>();
  if (element == "nan") return std::numeric_limits<double>::quiet_NaN();
  if (element == "inf") return std::numeric_limits<double>::infinity();
  if (element == "-inf") return -std::numeric_limits<double>::infinity();
  throw Error(ErrorKind::input,
              fmt::format("{}: its state has {}; expected a number", name, json_text(element)));
}

std::size_t index_from(const nlohmann::json& element, std::size_t size, const std::string& name) {
  D9D_REQUIRE(element.is_number_unsigned() && element.get<std::size_t>() < size,
              "{}: its state has a value at {}; expected a place below {}", name, json_text(element), size);
  return element.get<std::size_t>();
}

const nlohmann::json& list_in(const nlohmann::json& json, const char* key, const std::string& name) {
  const auto found = json.find(key);
  D9D_REQUIRE(found != json.end() && found->is_array(), "{}: its state has no list \"{}\"", name, key);
  return *found;
}

std::vector<double> numbers_from(const nlohmann::json& list, const std::string& name) {
  std::vector<double> numbers;
  numbers.reserve(list.size());
  for (const auto& element : list) numbers.push_back(number_from(element, name));
  return numbers;
}

}  // namespace

nlohmann::json state_to_json(std::span<const ReduceOp> layout, std::span<const double> state) {
  const auto is_neutral = [&](std::size_t i) { return state[i] == neutral(layout[i]); };
  std::size_t num_counted = 0;
  for (std::size_t i = 0; i < state.size(); ++i) num_counted += is_neutral(i) ? 0 : 1;
  const bool is_sparse = 2 * num_counted < state.size();

  nlohmann::json json{{"layout", layout_text(layout)}};
  nlohmann::json at = nlohmann::json::array();
  nlohmann::json values = nlohmann::json::array();
  for (std::size_t i = 0; i < state.size(); ++i) {
    if (is_sparse && is_neutral(i)) continue;
    if (is_sparse) at.push_back(i);
    values.push_back(json_number(state[i]));
  }
  if (is_sparse) json["at"] = std::move(at);
  json["values"] = std::move(values);
  return json;
}

std::optional<std::vector<double>> state_from_json(const nlohmann::json& json,
                                                   std::span<const ReduceOp> layout,
                                                   const std::string& name) {
  if (json.is_array()) {
    if (json.size() != layout.size()) return std::nullopt;
    return numbers_from(json, name);
  }
  D9D_REQUIRE(json.is_object() && json.contains("layout"), "{}: its state is {}; expected layout and values",
              name, json_text(json));
  if (json["layout"] != layout_text(layout)) return std::nullopt;
  const std::vector<double> values = numbers_from(list_in(json, "values", name), name);
  std::vector<double> state;
  for (const ReduceOp reduce : layout) state.push_back(neutral(reduce));
  const bool is_sparse = json.contains("at");
  const std::size_t expected = is_sparse ? list_in(json, "at", name).size() : layout.size();
  D9D_REQUIRE(values.size() == expected, "{}: its state has {} values; expected {}", name, values.size(),
              expected);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto index = is_sparse ? index_from(json["at"][i], state.size(), name) : i;
    state[index] = values[i];
  }
  return state;
}

}  // namespace d9d
