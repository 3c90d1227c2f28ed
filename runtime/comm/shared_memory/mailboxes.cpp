#include "runtime/comm/shared_memory/mailboxes.hpp"

namespace d9d::comm {

void Mailboxes::put(int sender, int receiver, int tag, Mail mail) {
  const std::lock_guard lock(mutex_);
  queues_[{sender, receiver, tag}].push_back(std::move(mail));
  arrived_.notify_all();
}

Mail Mailboxes::take(int sender, int receiver, int tag, std::chrono::milliseconds timeout) {
  std::unique_lock lock(mutex_);
  const Key key{sender, receiver, tag};
  const auto there = [&] { return queues_.contains(key) || closed_ || left_.contains(sender); };
  if (!arrived_.wait_until(lock, std::chrono::steady_clock::now() + timeout, there)) return {};
  const auto queue = queues_.find(key);
  if (queue == queues_.end()) return {};
  Mail mail = std::move(queue->second.front());
  queue->second.pop_front();
  if (queue->second.empty()) queues_.erase(queue);
  return mail;
}

void Mailboxes::leave(int rank) noexcept {
  const std::lock_guard lock(mutex_);
  left_.insert(rank);
  arrived_.notify_all();
}

void Mailboxes::close() noexcept {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  arrived_.notify_all();
}

bool Mailboxes::closed() {
  const std::lock_guard lock(mutex_);
  return closed_;
}

}  // namespace d9d::comm
