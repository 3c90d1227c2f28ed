#include "runtime/nn/shard/communication_thread.hpp"

#include <chrono>

namespace d9d {

CommunicationThread::~CommunicationThread() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
  }
  changed_.notify_one();
  if (thread_.joinable()) thread_.join();
}

std::future<void> CommunicationThread::submit(CommunicationJob job) {
  const std::lock_guard lock(mutex_);
  queue_.push_back({std::move(job), {}});
  std::future<void> done = queue_.back().done.get_future();
  if (!thread_.joinable()) thread_ = std::thread([this] { work(); });
  changed_.notify_one();
  return done;
}

void CommunicationThread::set_around(TraceHook job, TraceHook wait) {
  around_job_ = std::move(job);
  around_wait_ = std::move(wait);
}

void CommunicationThread::wait(std::future<void> done, const std::string& name) const {
  const bool waits = done.wait_for(std::chrono::seconds(0)) != std::future_status::ready;
  if (waits && around_wait_) around_wait_(name, 0, [&] { done.wait(); });
  done.get();
}

void CommunicationThread::work() {
  while (true) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return closing_ || !queue_.empty(); });
    if (closing_) return;
    Entry entry = std::move(queue_.front());
    queue_.pop_front();
    lock.unlock();
    run(entry);
  }
}

void CommunicationThread::run(Entry& entry) const {
  try {
    around_job_ ? around_job_(entry.job.name, entry.job.bytes, entry.job.run) : entry.job.run();
    entry.done.set_value();
  } catch (...) {
    entry.done.set_exception(std::current_exception());
  }
}

}  // namespace d9d
