#include "runtime/job/job_difference.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "runtime/base/json_text.hpp"
#include "runtime/base/rng.hpp"

namespace d9d {
namespace {

using config::Json;

constexpr std::size_t told_max = 5;
constexpr std::size_t value_max = 60;
constexpr int json_depth_max = 64;
constexpr std::string_view hidden_prefix = "(hidden ";

bool is_secret(const std::string& key) {
  constexpr std::array parts{"secret", "password", "api_key", "apikey", "credential"};
  constexpr std::array names{"token", "job_token", "auth_token", "access_token"};
  const auto inside = [&](const char* part) { return key.find(part) != std::string::npos; };
  return std::any_of(parts.begin(), parts.end(), inside) ||
         std::find(names.begin(), names.end(), key) != names.end();
}

void hide_secrets(Json& json) {
  for (auto& [key, value] : json.items()) {
    if (json.is_object() && is_secret(key) && !value.is_null()) {
      value = fmt::format("{}{:016x})", hidden_prefix, stable_hash(json_text(value)));
    } else if (value.is_structured()) {
      hide_secrets(value);
    }
  }
}

std::optional<Json> parse(const std::string& text) {
  bool too_deep = false;
  const auto shallow = [&](int depth, Json::parse_event_t, Json&) {
    too_deep |= depth > json_depth_max;
    return !too_deep;
  };
  Json json = Json::parse(text, shallow, false);
  if (too_deep || !json.is_object()) return std::nullopt;
  return json;
}

std::string shown(const Json* json) {
  if (json == nullptr) return "missing";
  const std::string value = json->dump(-1, ' ', true, Json::error_handler_t::replace);
  if (value.find(hidden_prefix) != std::string::npos) return "(hidden)";
  return value.size() <= value_max ? value : value.substr(0, value_max) + "...";
}

const Json* value_at(const Json& json, const std::string& key) {
  const auto found = json.find(key);
  return found == json.end() ? nullptr : &*found;
}

// A section, or a list, that only one side has is one difference, however many keys it has.
void compare_keys(const Json* mine, const Json* theirs, const std::string& path,
                  std::vector<KeyDifference>& differences) {
  if (mine != nullptr && theirs != nullptr && *mine == *theirs) return;
  const auto below = [&](const std::string& key) { return path.empty() ? key : path + "." + key; };
  const bool have_keys =
      mine != nullptr && theirs != nullptr && (path.empty() || (!mine->empty() && !theirs->empty()));
  if (have_keys && mine->is_object() && theirs->is_object()) {
    for (const auto& [key, value] : mine->items())
      compare_keys(&value, value_at(*theirs, key), below(key), differences);
    for (const auto& [key, value] : theirs->items())
      if (!mine->contains(key)) compare_keys(nullptr, &value, below(key), differences);
  } else if (have_keys && mine->is_array() && theirs->is_array()) {
    for (std::size_t i = 0; i < std::max(mine->size(), theirs->size()); ++i)
      compare_keys(i < mine->size() ? &(*mine)[i] : nullptr, i < theirs->size() ? &(*theirs)[i] : nullptr,
                   below(std::to_string(i)), differences);
  } else {
    differences.push_back({path, shown(mine), shown(theirs)});
  }
}

}  // namespace

std::string shared_keys(Json keys) {
  keys.erase("node");
  hide_secrets(keys);
  return json_text(keys);
}

std::string shared_keys(const JobConfig& job) {
  return shared_keys(resolved_keys(job));
}

std::vector<KeyDifference> key_differences(const std::string& mine, const std::string& theirs) {
  const auto here = parse(mine);
  const auto there = parse(theirs);
  if (!here || !there) return {};
  std::vector<KeyDifference> differences;
  compare_keys(&*here, &*there, "", differences);
  return differences;
}

std::vector<KeyDifference> differences_since(const Json& then, const JobConfig& now) {
  return key_differences(shared_keys(now), shared_keys(completed_keys(then)));
}

std::string told(const std::vector<KeyDifference>& differences, std::string_view where_mine,
                 std::string_view where_theirs) {
  std::string text;
  for (std::size_t i = 0; i < std::min(differences.size(), told_max); ++i) {
    const KeyDifference& difference = differences[i];
    text += fmt::format("{}{} ({} {}, {} {})", i == 0 ? "" : ", ", difference.key, difference.mine,
                        where_mine, difference.theirs, where_theirs);
  }
  if (differences.size() > told_max) text += fmt::format(" and {} more", differences.size() - told_max);
  return text;
}

}  // namespace d9d
