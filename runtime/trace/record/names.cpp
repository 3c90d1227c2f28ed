#include "runtime/trace/record/names.hpp"

namespace d9d::trace {

void Names::set_node(int node) {
  const std::lock_guard lock(mutex_);
  node_ = node;
}

std::uint32_t Names::intern(std::string_view text) {
  const std::lock_guard lock(mutex_);
  if (const auto known = text_ids_.find(text); known != text_ids_.end()) return known->second;
  const auto id = static_cast<std::uint32_t>(text_ids_.size());
  text_ids_.emplace(text, id);
  return id;
}

std::uint32_t Names::actor(std::string_view name, int rank) {
  const std::lock_guard lock(mutex_);
  const auto next = static_cast<std::uint32_t>(actor_ids_.size());
  return actor_ids_.try_emplace({std::string(name), rank}, next).first->second;
}

std::vector<std::string> Names::texts() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> result(text_ids_.size());
  for (const auto& [text, id] : text_ids_) result[id] = text;
  return result;
}

std::vector<ActorName> Names::actors() const {
  const std::lock_guard lock(mutex_);
  std::vector<ActorName> result(actor_ids_.size());
  for (const auto& [actor, id] : actor_ids_) result[id] = {actor.first, actor.second, node_};
  return result;
}

}  // namespace d9d::trace
