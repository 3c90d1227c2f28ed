#include "actors/notes/owed_work.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

namespace d9d {
namespace {

// Of several actors with one name, `nth` counts from 0.
std::optional<std::uint64_t> index_of(const std::vector<std::string>& names, const std::string& name,
                                      std::uint64_t nth) {
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i] == name && nth-- == 0) return i;
  }
  return std::nullopt;
}

nlohmann::json to_json(const RequestedTexts& texts, const std::vector<std::string>& names) {
  const auto here = names.begin() + static_cast<std::ptrdiff_t>(texts.asker.index);
  const GenerateOptions& options = texts.request.options;
  return {{"actor", *here},
          {"nth", std::count(names.begin(), here, *here)},
          {"prompts", texts.request.prompts},
          {"max_new_tokens", options.max_new_tokens},
          {"temperature", options.temperature},
          {"top_p", options.top_p},
          {"seed", options.seed},
          {"ends", options.ends}};
}

TextRequest request_of(const nlohmann::json& json) {
  TextRequest request{.prompts = json.at("prompts").get<std::vector<std::vector<std::int64_t>>>()};
  json.at("max_new_tokens").get_to(request.options.max_new_tokens);
  json.at("temperature").get_to(request.options.temperature);
  json.at("top_p").get_to(request.options.top_p);
  json.at("seed").get_to(request.options.seed);
  json.at("ends").get_to(request.options.ends);
  return request;
}

}  // namespace

nlohmann::json to_json(const OwedWork& owed, const std::vector<std::string>& actor_names) {
  nlohmann::json json = nlohmann::json::object();
  if (owed.evaluation) json["evaluation"] = true;
  for (std::size_t i = 0; i < owed.texts.size(); ++i) {
    const ActorId& asker = owed.texts[i].asker;
    if (asker.role != Role::user || asker.index >= actor_names.size()) continue;
    json["texts"].push_back(to_json(owed.texts[i], actor_names));
    json["texts"].back()["due"] = i < owed.texts_due;
  }
  return json;
}

OwedWork owed_work_of(const nlohmann::json& json, const std::vector<std::string>& actor_names) {
  OwedWork owed;
  if (!json.is_object()) return owed;
  owed.evaluation = json.value("evaluation", false);
  for (const nlohmann::json& each : json.value("texts", nlohmann::json::array())) {
    const auto asker = index_of(actor_names, each.at("actor").get<std::string>(), each.at("nth"));
    if (!asker) continue;
    owed.texts.push_back({.asker = {Role::user, *asker}, .request = request_of(each)});
    if (each.at("due").get<bool>()) ++owed.texts_due;
  }
  return owed;
}

}  // namespace d9d
