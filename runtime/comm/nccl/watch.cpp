#include "runtime/comm/nccl/watch.hpp"

#include <algorithm>
#include <chrono>

#include "runtime/comm/nccl/channel.hpp"

namespace d9d::nccl {
namespace {

constexpr std::chrono::milliseconds period{10};

}  // namespace

Watch::Watch() : thread_([this] { run(); }) {}

Watch::~Watch() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void Watch::add(Channel& channel) {
  const std::lock_guard lock(mutex_);
  channels_.push_back(&channel);
}

void Watch::remove(Channel& channel) {
  std::unique_lock lock(mutex_);
  std::erase(channels_, &channel);
  changed_.wait(lock, [&] { return looked_at_ != &channel; });
}

void Watch::run() {
  std::unique_lock lock(mutex_);
  while (!changed_.wait_for(lock, period, [this] { return ends_; })) {
    const std::vector<Channel*> now = channels_;
    for (Channel* const channel : now) {
      if (std::find(channels_.begin(), channels_.end(), channel) == channels_.end()) continue;
      // Without the lock, because look() may block; remove() waits while the channel is looked_at_.
      looked_at_ = channel;
      lock.unlock();
      channel->look();
      lock.lock();
      looked_at_ = nullptr;
      changed_.notify_all();
    }
  }
}

}  // namespace d9d::nccl
