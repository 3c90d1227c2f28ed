#include "runtime/plugin/tracker_thread.hpp"

#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string_view>
#include <thread>
#include <utility>

#include "runtime/base/error.hpp"
#include "runtime/base/log.hpp"
#include "runtime/base/shortened.hpp"
#include "runtime/task/user_call.hpp"

namespace d9d {
namespace {

// A process that was stopped and continued must not take its own pause for one of the tracker.
constexpr int looks_per_limit = 10;

}  // namespace

struct TrackerThread::Shared {
  struct Work {
    const char* call;
    std::int64_t step;
    std::function<void(TrackerRun&)> run;
  };

  std::mutex mutex;
  std::condition_variable changed;
  std::deque<Work> waiting;
  Work current{};  // what the thread does, or did last
  bool is_open = false, is_working = true, is_over = false, is_off = false;
  std::uint64_t done = 0;
  std::exception_ptr thrown;

  // Runs on the thread. Opens the tracker, works until the end and destroys it.
  static void serve(const std::shared_ptr<Shared>& shared,
                    const std::function<std::unique_ptr<TrackerRun>()>& open);
  // True when nothing is left to do; false when one call has lasted for `limit`.
  bool wait_until_idle(std::unique_lock<std::mutex>& lock, std::chrono::milliseconds limit);
};

void TrackerThread::Shared::serve(const std::shared_ptr<Shared>& shared,
                                  const std::function<std::unique_ptr<TrackerRun>()>& open) {
  Shared& here = *shared;
  std::unique_ptr<TrackerRun> run;
  const auto attempt = [&](const auto& work) {
    std::exception_ptr thrown;
    try {
      work();
    } catch (...) {
      thrown = std::current_exception();
    }
    const std::lock_guard lock(here.mutex);
    if (thrown && !here.is_off) here.thrown = thrown;
    here.is_off = here.is_off || thrown;
    here.is_working = false;
    ++here.done;
    here.changed.notify_all();
  };
  attempt([&] { run = open(); });
  std::unique_lock lock(here.mutex);
  while (true) {
    here.changed.wait(lock, [&] { return !here.waiting.empty() || here.is_over; });
    if (here.is_off) here.waiting.clear();
    if (here.waiting.empty() && here.is_over) break;
    if (here.waiting.empty()) continue;
    here.current = std::move(here.waiting.front());
    here.waiting.pop_front();
    here.is_working = true;
    lock.unlock();
    attempt([&] { here.current.run(*run); });
    lock.lock();
  }
  here.current.call = "its destructor";
  here.is_working = true;
  lock.unlock();
  attempt([&] { run.reset(); });
}

bool TrackerThread::Shared::wait_until_idle(std::unique_lock<std::mutex>& lock,
                                            std::chrono::milliseconds limit) {
  const auto is_idle = [this] { return is_off || (waiting.empty() && !is_working); };
  std::uint64_t seen = done;
  for (int looks = 0; !is_idle();) {
    if (!changed.wait_for(lock, limit / looks_per_limit, [&] { return is_idle() || done != seen; })) {
      if (++looks >= looks_per_limit) return false;
    } else if (std::exchange(seen, done) != done) {
      looks = 0;
    }
  }
  return true;
}

TrackerThread::TrackerThread(TrackerThreadOptions options)
    : options_(std::move(options)), shared_(std::make_shared<Shared>()) {
  shared_->current.call = "its opening";
  std::thread([shared = shared_, open = options_.open] { Shared::serve(shared, open); }).detach();
  std::unique_lock lock(shared_->mutex);
  const bool returned = shared_->wait_until_idle(lock, options_.open_limit);
  const std::exception_ptr thrown = std::exchange(shared_->thrown, nullptr);
  shared_->is_over = !returned || thrown;
  shared_->is_off = shared_->is_over;
  shared_->changed.notify_all();
  if (!returned) {
    throw Error(ErrorKind::environment,
                fmt::format("the tracker \"{}\" has not opened its run for {} s "
                            "(trainer.timeout.init_timeout): its prepare() blocks",
                            options_.name, std::chrono::duration<double>(options_.open_limit).count()));
  }
  if (thrown) {
    call_user(fmt::format("the tracker \"{}\"", options_.name), ErrorInside::passes,
              [&] { std::rethrow_exception(thrown); });
  }
}

TrackerThread::~TrackerThread() {
  std::unique_lock lock(shared_->mutex);
  shared_->is_over = true;
  shared_->changed.notify_all();
  if (shared_->is_off && shared_->is_working) return;  // it blocks: said already
  const auto is_gone = [&] { return shared_->current.call == std::string_view("its destructor"); };
  const std::uint64_t seen = shared_->done;
  const bool ended = shared_->changed.wait_for(
      lock, options_.call_limit, [&] { return is_gone() && !shared_->is_working && shared_->done != seen; });
  if (!ended)
    log::warn("the tracker \"{}\" does not end: {} has not returned", options_.name, shared_->current.call);
}

void TrackerThread::lines_go_out() const {
  if (options_.before_lines_go_out) options_.before_lines_go_out();
}

void TrackerThread::hand_over(const char* call, std::function<void(TrackerRun&)> work) {
  const std::lock_guard lock(shared_->mutex);
  if (shared_->is_off) return;
  shared_->waiting.push_back({call, step_, std::move(work)});
  shared_->changed.notify_all();
}

void TrackerThread::wait_for(const char* call, std::function<void(TrackerRun&)> work) {
  hand_over(call, std::move(work));
  std::unique_lock lock(shared_->mutex);
  const bool returned = shared_->wait_until_idle(lock, options_.call_limit);
  const char* const last = shared_->current.call;
  const std::int64_t step = shared_->current.step;
  const std::string in_step = step > 0 ? fmt::format(" in step {}", step) : "";
  if (!returned) {
    shared_->is_off = true;
    shared_->waiting.clear();
    log::warn(
        "the tracker \"{}\" has not returned from {}{} for {} s (node.disk_timeout). It gets nothing "
        "more; training goes on",
        options_.name, last, in_step, std::chrono::duration<double>(options_.call_limit).count());
  }
  const std::exception_ptr thrown = std::exchange(shared_->thrown, nullptr);
  if (!thrown) return;
  try {
    std::rethrow_exception(thrown);
  } catch (...) {
    log::warn("the tracker \"{}\" threw{}: {}. It gets nothing more; training goes on", options_.name,
              in_step, shortened(describe_current_exception().what));
  }
}

void TrackerThread::write(const Point& point, const TrackerValue& value) {
  step_ = point.step;
  hand_over("write()", [point, value](TrackerRun& run) { run.write(point, value); });
}

void TrackerThread::begin_close() {
  lines_go_out();
  hand_over("begin_close()", [](TrackerRun& run) { run.begin_close(); });
}

void TrackerThread::end_step(std::int64_t step) {
  step_ = step;
  lines_go_out();
  wait_for("end_step()", [step](TrackerRun& run) { run.end_step(step); });
}

void TrackerThread::hparams(const nlohmann::json& hparams) {
  wait_for("hparams()", [hparams](TrackerRun& run) { run.hparams(hparams); });
}

void TrackerThread::flush() {
  lines_go_out();
  wait_for("flush()", [](TrackerRun& run) { run.flush(); });
}

void TrackerThread::close() {
  lines_go_out();
  wait_for("close()", [](TrackerRun& run) { run.close(); });
}

}  // namespace d9d
