#include "actors/core/address_book.hpp"

#include <mutex>
#include <utility>

namespace d9d {

void AddressBook::enter(ActorId id, MailboxPtr mailbox) {
  const std::unique_lock lock(mutex_);
  local_[id] = std::move(mailbox);
}

void AddressBook::remove(ActorId id) {
  const std::unique_lock lock(mutex_);
  local_.erase(id);
}

void AddressBook::enter_node(int node, MailboxPtr mailbox) {
  const std::unique_lock lock(mutex_);
  nodes_[node] = std::move(mailbox);
}

void AddressBook::set_node_of(NodeOf node_of) {
  const std::unique_lock lock(mutex_);
  node_of_ = std::move(node_of);
}

MailboxPtr AddressBook::find(ActorId id) const {
  const std::shared_lock lock(mutex_);
  if (const auto here = local_.find(id); here != local_.end()) return here->second;
  if (!node_of_) return nullptr;
  const auto node = nodes_.find(node_of_(id));
  return node == nodes_.end() ? nullptr : node->second;
}

MailboxPtr AddressBook::find_local(ActorId id) const {
  const std::shared_lock lock(mutex_);
  const auto here = local_.find(id);
  return here == local_.end() ? nullptr : here->second;
}

std::vector<ActorId> AddressBook::locals() const {
  const std::shared_lock lock(mutex_);
  std::vector<ActorId> ids;
  for (const auto& [id, mailbox] : local_) ids.push_back(id);
  return ids;
}

void AddressBook::clear() {
  const std::unique_lock lock(mutex_);
  local_.clear();
  nodes_.clear();
}

}  // namespace d9d
