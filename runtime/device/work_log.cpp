#include "runtime/device/work_log.hpp"

#include <algorithm>
#include <utility>

#include "runtime/device/device.hpp"

namespace d9d {
namespace {

WorkLog*& log_of_thread() {
  thread_local WorkLog* of_thread = nullptr;
  return of_thread;
}

}  // namespace

WorkLog* WorkLog::current() {
  return log_of_thread();
}

WorkLog* WorkLog::current_if_detailed() {
  WorkLog* const log = current();
  return log != nullptr && log->detailed_ ? log : nullptr;
}

WorkLog::Scope::Scope(WorkLog* log) : previous_(std::exchange(log_of_thread(), log)) {}

WorkLog::Scope::~Scope() {
  log_of_thread() = previous_;
}

void WorkLog::add(LoggedWork work) {
  work.origin = origin_;
  given_.push_back(std::move(work));
}

void WorkLog::settle() {
  std::vector<LoggedWork> rest;
  for (LoggedWork& work : given_) {
    work.end_ns = work.done.reached_ns();
    if (work.end_ns == 0) {
      rest.push_back(std::move(work));
      continue;
    }
    work.begin_ns = std::min(std::max(work.begun.reached_ns(), work.behind.reached_ns()), work.end_ns);
    work.begun = work.behind = work.done = {};
    if (on_done_) on_done_(work);
    done_.push_back(std::move(work));
  }
  given_ = std::move(rest);
}

std::vector<LoggedWork> WorkLog::take_done() {
  settle();
  return std::exchange(done_, {});
}

WorkTimer::WorkTimer(WorkLog* log, Device& device, LoggedWork work) : log_(log), device_(&device) {
  if (log_ == nullptr) return;
  work_ = std::move(work);
  work_.begun = device.record_time(work_.stream);
}

void WorkTimer::end() {
  WorkLog* const log = std::exchange(log_, nullptr);
  if (log == nullptr) return;
  work_.done = device_->record_time(work_.stream);
  log->add(std::move(work_));
}

void wait_inside(Device& device, const Event& event, const std::string& what) {
  const StreamRole role = device.current_stream();
  WorkLog* const log = computes(role) ? WorkLog::current_if_detailed() : nullptr;
  WorkTimer stall(log, device, {.kind = LoggedWork::Kind::stall, .name = what, .stream = role});
  device.wait(event);
  stall.end();
}

}  // namespace d9d
