#include "runtime/job/job_difference.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
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

// In order: key path and its value. An empty list or section is a value.
using Leaves = std::vector<std::pair<std::string, std::string>>;

void collect(const Json& json, const std::string& path, Leaves& leaves) {
  if (json.empty() && path.empty()) return;
  if (!json.is_structured() || json.empty()) {
    leaves.emplace_back(path, json.dump(-1, ' ', true, Json::error_handler_t::replace));
    return;
  }
  for (const auto& [key, value] : json.items()) collect(value, path.empty() ? key : path + "." + key, leaves);
}

std::string shown(const std::string& value) {
  if (value.find(hidden_prefix) != std::string::npos) return "(hidden)";
  return value.size() <= value_max ? value : value.substr(0, value_max) + "...";
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
  Leaves own, others;
  collect(*here, "", own);
  collect(*there, "", others);
  std::map<std::string, std::string> rest(others.begin(), others.end());
  std::vector<KeyDifference> differences;
  for (const auto& [key, value] : own) {
    const auto found = rest.find(key);
    if (found == rest.end()) {
      differences.push_back({key, shown(value), "missing"});
      continue;
    }
    if (found->second != value) differences.push_back({key, shown(value), shown(found->second)});
    rest.erase(found);
  }
  for (const auto& [key, value] : others) {
    if (rest.contains(key)) differences.push_back({key, "missing", shown(value)});
  }
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
