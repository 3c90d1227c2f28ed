#include "actors/job/cast/resumed_state.hpp"

#include "runtime/base/count.hpp"
#include "runtime/base/error.hpp"
#include "runtime/base/json_text.hpp"
#include "runtime/data/stream_reader.hpp"

namespace d9d {

ResumedState::ResumedState(const std::string& state) {
  if (!state.empty()) ranks_ = parse_json<nlohmann::json>(state).value("ranks", nlohmann::json::object());
}

std::uint64_t ResumedState::counted(const char* key) const {
  const auto number = find(key);
  return number ? number->get<std::uint64_t>() : 0;
}

std::vector<std::uint64_t> ResumedState::skipped_updates(std::size_t updates) const {
  const auto kept = find("skipped_steps");
  if (!kept) return std::vector<std::uint64_t>(updates);
  const auto skipped = kept->is_array() ? kept->get<std::vector<std::uint64_t>>()
                                        : std::vector<std::uint64_t>{kept->get<std::uint64_t>()};
  D9D_REQUIRE(
      skipped.size() == updates,
      "task: a step has {} and had {} in the run whose checkpoint this job goes on from, so the optimizer's "
      "counts do not fit; start anew with its weights (trainer.model_stage_factory.source_checkpoint)",
      d9d::counted(updates, "update"), skipped.size());
  return skipped;
}

nlohmann::json ResumedState::kept(const char* key) const {
  return find(key).value_or(nlohmann::json());
}

std::optional<nlohmann::json> ResumedState::find(const char* key) const {
  const auto main = ranks_.find("0");
  if (main == ranks_.end() || !main->contains(key)) return std::nullopt;
  return main->at(key);
}

std::vector<std::string> ResumedState::metrics_of(int rank, int world_size) const {
  std::vector<std::string> states;
  for (const auto& [other, saved] : ranks_.items()) {
    if (std::stoi(other) % world_size != rank || !saved.contains("metrics")) continue;
    states.push_back(json_text(saved["metrics"]));
  }
  return states;
}

std::vector<nlohmann::json> ResumedState::streams() const {
  std::vector<nlohmann::json> saved;
  for (const auto& [rank, state] : ranks_.items()) {
    if (const auto found = state.find("stream"); found != state.end()) saved.push_back(*found);
  }
  return states_of_streams(saved);
}

std::optional<nlohmann::json> ResumedState::actor(const std::string& name, std::size_t index) const {
  for (const nlohmann::json& actor : kept("actors")) {
    if (actor.at("name") == name && index-- == 0) return actor.at("state");
  }
  return std::nullopt;
}

}  // namespace d9d
