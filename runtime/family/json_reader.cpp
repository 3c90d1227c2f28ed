#include "runtime/family/json_reader.hpp"

#include <algorithm>
#include <cmath>

#include "runtime/base/error.hpp"
#include "runtime/base/json_text.hpp"

namespace d9d {

using nlohmann::json;

namespace {

// Products of two sizes are then no more than 63 bits hold.
constexpr std::uint64_t integer_max = (std::uint64_t{1} << 31) - 1;

}  // namespace

const json* JsonReader::find(const char* key) const {
  const auto found = object_.find(key);
  return found == object_.end() || found->is_null() ? nullptr : &*found;
}

void JsonReader::wrong(const char* key, const json& value, const char* expected) const {
  throw Error(ErrorKind::input,
              fmt::format("{}: {} is {}, expected {}", where_, key, json_text(value), expected));
}

std::int64_t JsonReader::integer_from(const char* key, const json& value) const {
  if (value.is_number_unsigned() && value.get<std::uint64_t>() > integer_max)
    wrong(key, value, "an integer below 2^31");
  if (value.is_number_integer()) return value.get<std::int64_t>();
  if (value.is_number_float()) {
    const double number = value.get<double>();
    if (number == std::floor(number) && std::abs(number) <= static_cast<double>(integer_max))
      return static_cast<std::int64_t>(number);
  }
  wrong(key, value, "an integer");
}

std::int64_t JsonReader::integer(const char* key, std::int64_t absent) const {
  const json* value = find(key);
  return value == nullptr ? absent : integer_from(key, *value);
}

std::optional<std::int64_t> JsonReader::integer_or_none(const char* key,
                                                        std::optional<std::int64_t> absent) const {
  if (!has(key)) return absent;
  const json* value = find(key);
  return value == nullptr ? std::nullopt : std::optional(integer_from(key, *value));
}

std::vector<std::int64_t> JsonReader::integers(const char* key) const {
  const json* list = find(key);
  if (list == nullptr) return {};
  if (!list->is_array()) wrong(key, *list, "a list of integers");
  std::vector<std::int64_t> values;
  for (const json& value : *list) values.push_back(integer_from(key, value));
  return values;
}

double JsonReader::number(const char* key, double absent) const {
  return number_or_none(key).value_or(absent);
}

std::optional<double> JsonReader::number_or_none(const char* key) const {
  const json* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (!value->is_number()) wrong(key, *value, "a number");
  return value->get<double>();
}

std::vector<double> JsonReader::numbers(const char* key) const {
  const json* list = find(key);
  if (list == nullptr) return {};
  const auto is_number = [](const json& value) { return value.is_number(); };
  if (!list->is_array() || !std::all_of(list->begin(), list->end(), is_number))
    wrong(key, *list, "a list of numbers");
  return list->get<std::vector<double>>();
}

bool JsonReader::flag(const char* key, bool absent) const {
  const json* value = find(key);
  if (value == nullptr) return absent;
  if (!value->is_boolean()) wrong(key, *value, "true or false");
  return value->get<bool>();
}

std::string JsonReader::text(const char* key, const std::string& absent) const {
  const json* value = find(key);
  if (value == nullptr) return absent;
  if (!value->is_string()) wrong(key, *value, "a text");
  return value->get<std::string>();
}

}  // namespace d9d
