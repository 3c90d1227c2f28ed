#include "actors/core/connections.hpp"

namespace d9d {

std::shared_ptr<Connection> Connections::open(bool member) {
  const std::lock_guard lock(mutex_);
  auto connection = std::make_shared<Connection>(++last_, member);
  forget_gone();
  if (!member) joining_.emplace(last_, connection);
  return connection;
}

void Connections::admit(std::uint64_t number) {
  const std::lock_guard lock(mutex_);
  const auto found = joining_.find(number);
  if (found == joining_.end()) return;
  if (const auto connection = found->second.lock()) connection->admit();
  joining_.erase(found);
}

std::size_t Connections::num_joining() {
  const std::lock_guard lock(mutex_);
  forget_gone();
  return joining_.size();
}

void Connections::forget_gone() {
  std::erase_if(joining_, [](const auto& entry) { return entry.second.expired(); });
}

}  // namespace d9d
