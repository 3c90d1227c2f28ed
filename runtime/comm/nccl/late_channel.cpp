#include "runtime/comm/nccl/late_channel.hpp"

#include <utility>

#include "runtime/base/error.hpp"
#include "runtime/comm/communicator.hpp"

namespace d9d::nccl {

LateChannel::LateChannel(const Api& api, std::shared_ptr<Communicator> host,
                         std::chrono::milliseconds timeout, std::shared_ptr<comm::AbortFlag> ended,
                         Connect connect)
    : api_(api),
      ended_(std::move(ended)),
      connect_(std::move(connect)),
      host_(std::move(host)),
      timeout_(timeout) {}

std::shared_ptr<Channel> LateChannel::now() const {
  const std::lock_guard lock(mutex_);
  return channel_;
}

void LateChannel::throw_if_failed(const char* operation, const std::string& caller) const {
  failed_.throw_if_set(operation, caller, "nccl");
  ended_->throw_if_set(operation, caller, "nccl");
}

// Waits without mutex_, because abort() must not wait for other ranks.
std::shared_ptr<Channel> LateChannel::connected(const Channel::What& what) {
  if (auto channel = now()) return channel;
  const std::lock_guard connecting(connecting_);
  if (auto channel = now()) return channel;
  throw_if_failed(what.operation, what.group);
  std::shared_ptr<Communicator> host;
  std::chrono::milliseconds timeout{0};
  {
    const std::lock_guard lock(mutex_);
    host = host_;
    timeout = timeout_;
  }
  std::shared_ptr<Channel> channel;
  try {
    channel = connect_(host, timeout);
  } catch (const Error& error) {
    failed_.set(error.what());  // unless an abort has set its reason before
    failed_.throw_if_set(what.operation, what.group, "nccl");
  }
  {
    const std::lock_guard lock(mutex_);
    if (!failed_.is_set() && !ended_->is_set()) {
      host_ = nullptr;
      channel->set_timeout(timeout_);
      return channel_ = channel;
    }
  }
  // Aborted while it connected, when abort() saw no channel.
  channel->abort("the group has ended");
  throw_if_failed(what.operation, what.group);
  return channel;
}

void LateChannel::launch(const Channel::What& what, std::vector<at::Tensor> tensors,
                         const Channel::Call& call) {
  connected(what)->launch(what, std::move(tensors), call);
}

void LateChannel::wait(const std::string& caller) {
  if (const auto channel = now()) return channel->wait(caller);
  throw_if_failed("wait", caller);
}

void LateChannel::check(const std::string& caller) const {
  if (const auto channel = now()) return channel->check(caller);
  throw_if_failed("check", caller);
}

void LateChannel::abort(const std::string& reason) noexcept {
  failed_.set("aborted: " + reason);
  const std::lock_guard lock(mutex_);
  if (channel_) channel_->abort(reason);
  if (host_) host_->abort(reason);
}

void LateChannel::set_timeout(std::chrono::milliseconds timeout) {
  const std::lock_guard lock(mutex_);
  timeout_ = timeout;
  if (channel_) channel_->set_timeout(timeout);
}

}  // namespace d9d::nccl
