#include "runtime/base/held_json.hpp"

#include <cmath>
#include <nlohmann/json.hpp>

#include "runtime/base/error.hpp"

namespace d9d {
namespace {

using nlohmann::json;
using Place = json::json_pointer;

bool is_utf8(const json& text) {
  try {
    text.dump();
    return true;
  } catch (const json::type_error&) {
    return false;
  }
}

// What a value is that JSON cannot hold; else empty.
std::string_view unheld_kind(const json& value) {
  if (value.is_number_float()) {
    const double number = value.get<double>();
    if (std::isfinite(number)) return {};
    return std::isnan(number) ? "NaN" : number > 0 ? "infinity" : "-infinity";
  }
  if (value.is_string()) return is_utf8(value) ? "" : "a text that is not UTF-8";
  if (value.is_binary()) return "bytes";
  return value.is_discarded() ? "a value that was not parsed" : "";
}

void require_held(const json& value, const Place& place, std::string_view whose) {
  if (value.is_structured()) {
    for (const auto& [key, member] : value.items()) {
      D9D_REQUIRE(!value.is_object() || is_utf8(json(key)),
                  "{} holds a key that is not UTF-8 in {}, which JSON cannot hold; write another key", whose,
                  place.empty() ? "its outermost object" : place.to_string());
      require_held(member, place / key, whose);
    }
  }
  const std::string_view kind = unheld_kind(value);
  D9D_REQUIRE(kind.empty(), "{} holds {} at {}, which JSON cannot hold; write null or a text", whose, kind,
              place.empty() ? "its top" : place.to_string());
}

}  // namespace

void require_json_holds(const nlohmann::json& state, std::string_view whose) {
  require_held(state, Place(), whose);
}

}  // namespace d9d
