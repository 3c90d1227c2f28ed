#include "runtime/comm/processes/late_links.hpp"

namespace d9d::comm {

PeerLinks& LateLinks::links() {
  const std::lock_guard lock(opening_);
  if (links_) return *links_;
  if (!failure_.empty()) throw NotMet(failure_);
  try {
    links_ = open_(timeout_.load());
  } catch (const std::exception& error) {
    failure_ = error.what();
    throw NotMet(failure_);
  }
  return *links_;
}

std::unique_ptr<Transfer> LateLinks::send(int peer, const void* data, std::size_t bytes, int tag) {
  return links().send(peer, data, bytes, tag);
}

std::unique_ptr<Transfer> LateLinks::receive(int peer, void* data, std::size_t bytes, int tag) {
  return links().receive(peer, data, bytes, tag);
}

}  // namespace d9d::comm
