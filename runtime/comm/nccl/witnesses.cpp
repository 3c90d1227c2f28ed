#include "runtime/comm/nccl/witnesses.hpp"

#include <ATen/ops/zeros.h>

#include <algorithm>
#include <cstring>

#include "runtime/base/error.hpp"
#include "runtime/comm/communicator.hpp"

namespace d9d::nccl {
namespace {

// All messages have this size. The text ends at the first zero.
constexpr std::int64_t message_bytes = 64 << 10;

at::Tensor message_of(LaunchHistory history) {
  std::string text = encode(history);
  while (static_cast<std::int64_t>(text.size()) >= message_bytes) {
    history.launched.erase(
        history.launched.begin(),
        history.launched.begin() + static_cast<std::ptrdiff_t>(history.launched.size() / 2 + 1));
    text = encode(history);
  }
  at::Tensor message = at::zeros({message_bytes}, at::kByte);
  std::memcpy(message.mutable_data_ptr(), text.data(), text.size());
  return message;
}

}  // namespace

void Witnesses::tell(const Member& member, const at::Tensor& message) {
  try {
    for (int peer = 0; peer < member.group.size() && !member.told; ++peer)
      if (peer != member.group.index) member.host->send(message, peer);
  } catch (const std::exception&) {  // this group has failed before
  }
}

void Witnesses::join(const Group& group, std::shared_ptr<Communicator> host) {
  order.join(group.name);
  const std::lock_guard lock(mutex_);
  members_[group.name] = {group, std::move(host)};
}

void Witnesses::leave(const std::string& group) {
  order.leave(group);
  const std::lock_guard lock(mutex_);
  members_.erase(group);
}

void Witnesses::abort(const std::string& group, const std::string& reason) noexcept {
  const std::lock_guard lock(mutex_);
  const auto found = members_.find(group);
  if (found != members_.end()) found->second.host->abort(reason);
}

// Returns the groups as they are, and marks all as told: compare() sends to each group once.
std::map<std::string, Witnesses::Member> Witnesses::members_now() {
  const std::lock_guard lock(mutex_);
  const std::map<std::string, Member> now = members_;
  for (auto& [name, member] : members_) member.told = true;
  return now;
}

std::string Witnesses::compare(const std::string& group, std::chrono::milliseconds patience) {
  const std::map<std::string, Member> members = members_now();
  const auto asked = members.find(group);
  if (asked == members.end()) return "";
  std::vector<LaunchHistory> histories{order.history()};
  const at::Tensor mine = message_of(histories.front());
  for (const auto& [name, member] : members) tell(member, mine);
  try {
    Communicator& host = *asked->second.host;
    host.set_timeout(patience);
    at::Tensor theirs = at::zeros({message_bytes}, at::kByte);
    for (int peer = 0; peer < host.size(); ++peer) {
      if (peer == host.rank()) continue;
      host.receive(theirs, peer).wait();
      histories.push_back(decode_history(static_cast<const char*>(theirs.const_data_ptr())));
    }
  } catch (const std::exception& error) {
    return fmt::format("asked what they launched, not all ranks answer: {}", error.what());
  }
  std::sort(histories.begin(), histories.end(), [](const auto& a, const auto& b) { return a.rank < b.rank; });
  return difference(histories).value_or("all ranks launched the same");
}

}  // namespace d9d::nccl
