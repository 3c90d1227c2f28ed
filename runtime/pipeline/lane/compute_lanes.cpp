#include "runtime/pipeline/lane/compute_lanes.hpp"

#include <utility>

#include "runtime/base/error.hpp"

namespace d9d {
namespace {

std::exception_ptr error_of(const ComputeLanes::Piece& work) {
  try {
    work();
  } catch (...) {
    return std::current_exception();
  }
  return nullptr;
}

}  // namespace

ComputeLanes::ComputeLanes(Piece begin_thread)
    : begin_thread_(std::move(begin_thread)), first_id_(std::this_thread::get_id()) {
  thread_ = std::thread([this] { serve(); });
}

ComputeLanes::~ComputeLanes() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void ComputeLanes::run(const Piece& first, const Piece& second) {
  D9D_CHECK(current() == 0 && !both_run_, "two lanes are run from within one of them or from another thread");
  turn_.start();
  both_run_ = true;
  {
    const std::lock_guard lock(mutex_);
    second_ = &second;
  }
  changed_.notify_all();
  const std::exception_ptr first_error = error_of(first);
  turn_.finish(0);
  // Waits for the second piece even if the first one threw: it uses the caller's objects.
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return second_ == nullptr; });
  both_run_ = false;
  const std::exception_ptr second_error = std::exchange(second_error_, nullptr);
  if (first_error) std::rethrow_exception(first_error);
  if (second_error) std::rethrow_exception(second_error);
}

void ComputeLanes::serve() {
  if (begin_thread_) begin_thread_();
  while (true) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return closing_ || second_ != nullptr; });
    if (closing_) return;
    const Piece& work = *second_;
    lock.unlock();
    turn_.take(1);
    std::exception_ptr error = error_of(work);
    turn_.finish(1);
    lock.lock();
    second_error_ = std::move(error);
    second_ = nullptr;
    changed_.notify_all();
  }
}

std::optional<int> ComputeLanes::current() const {
  const std::thread::id here = std::this_thread::get_id();
  if (here == first_id_) return 0;
  if (here == thread_.get_id()) return 1;
  return {};
}

ComputeLanes::YieldWhileWaiting::YieldWhileWaiting(ComputeLanes& lanes)
    : lanes_(lanes), lane_(lanes.current()) {
  if (lane_ && lanes_.both_run_) lanes_.turn_.give(*lane_);
}

ComputeLanes::YieldWhileWaiting::~YieldWhileWaiting() {
  if (lane_ && lanes_.both_run_) lanes_.turn_.take(*lane_);
}

void ComputeTurn::start() {
  const std::lock_guard lock(mutex_);
  D9D_CHECK(!running_[0] && !running_[1], "two lanes start before the two before are at their end");
  running_ = {true, true};
  owner_ = 0;
}

void ComputeTurn::take(int lane) {
  std::unique_lock lock(mutex_);
  passed_.wait(lock, [&] { return owner_ == lane; });
}

void ComputeTurn::give(int lane) {
  const std::lock_guard lock(mutex_);
  pass_on(lane);
}

void ComputeTurn::finish(int lane) {
  const std::lock_guard lock(mutex_);
  running_[static_cast<std::size_t>(lane)] = false;
  pass_on(lane);
}

void ComputeTurn::pass_on(int lane) {
  D9D_CHECK(owner_ == lane, "lane {} gives away a turn that lane {} has", lane, owner_);
  const int other = 1 - lane;
  // A lane that has ended never gives the turn back, so this lane keeps it.
  if (!running_[static_cast<std::size_t>(other)]) return;
  owner_ = other;
  passed_.notify_one();
}

}  // namespace d9d
