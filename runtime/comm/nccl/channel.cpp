#include "runtime/comm/nccl/channel.hpp"

#include <fmt/ranges.h>

#include <algorithm>

#include "runtime/base/error.hpp"
#include "runtime/device/device.hpp"

namespace d9d::nccl {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds poll_period{1};
// NCCL completes most calls some ten microseconds later on a thread of its own. A sleep would take
// longer than the call.
constexpr std::chrono::microseconds spin_patience{200};
// Time for the other ranks to notice the failure, too, and to send what they launched.
constexpr milliseconds witness_patience{5'000};
// Time for the living ranks to answer when one of them is gone.
constexpr milliseconds answer_patience{1'000};
// A thread inside an NCCL call holds the lock. After this time the communicator is aborted without the
// lock, because only that wakes the thread.
constexpr milliseconds call_patience{1'000};
// How long look() tries to get the lock from a thread that launches without a pause.
constexpr milliseconds look_patience{20};
const std::string backend = "nccl";

// Tries to lock for some time. Does not use a timed mutex, whose calls the thread sanitizer of GCC
// 12 does not know.
std::unique_lock<std::mutex> lock_within(std::mutex& mutex, milliseconds patience) {
  const auto end = steady_clock::now() + patience;
  std::unique_lock lock(mutex, std::try_to_lock);
  while (!lock.owns_lock() && steady_clock::now() < end) {
    std::this_thread::sleep_for(poll_period);
    static_cast<void>(lock.try_lock());
  }
  return lock;
}

bool is_of_a_peer(int result) {
  return result == system_error || result == remote_error;
}

}  // namespace

Channel::Channel(ChannelOptions options, const Open& open)
    : options_(std::move(options)), timeout_(options_.timeout) {
  const What what{"open", "", ""};
  require_cuda(api().use_device(options_.device), what);
  try {
    int result = open(&comm_);
    if (result == success) api().async_error(comm_, &result);
    require(settled(result, what), what);
    require_cuda(api().create_stream(&stream_), what);
  } catch (const Error&) {
    end_communicator();
    throw;
  }
}

Channel::~Channel() {
  failed_.set("closed");
  options_.witnesses->leave(group().name);
  enter_device();
  end_communicator();
  if (ending_.joinable()) ending_.join();
  for (const Launch& launch : launches_) {
    api().destroy_event(launch.ready);
    api().destroy_event(launch.done);
  }
  for (const Event event : events_) api().destroy_event(event);
  api().destroy_stream(stream_);
}

void Channel::launch(const What& what, std::vector<at::Tensor> tensors, const Call& call) {
  std::deque<Launch> gone;  // freed without the lock
  const std::lock_guard lock(mutex_);
  failed_.throw_if_set(what.operation, caller_of(what), backend);
  require_cuda(api().use_device(options_.device), what);
  drop_done(gone);
  Launch launch{what, std::move(tensors), take_event(what), take_event(what)};
  require_cuda(api().record(launch.ready, api().current_stream(options_.device)), what);
  require_cuda(api().stream_waits(stream_, launch.ready), what);
  // Recorded again, on stream_: reached when the caller's work and all earlier launches are done.
  // overdue() counts from there.
  require_cuda(api().record(launch.ready, stream_), what);
  const LoggedWork logged = logged_from_here(what, launch.tensors);
  options_.witnesses->order.add({group().name, ++launched_, std::string(what.operation) + what.shape});
  launches_.push_back(std::move(launch));  // before the call: even if it fails, the GPU may use the tensors
  try {
    require(settled(call(comm_, stream_), what), what);
  } catch (const Error& error) {
    failed_.set(error.what());  // `done` was not recorded, so no thread may wait for this launch
    throw;
  }
  require_cuda(api().record(launches_.back().done, stream_), what);
  add_to_log(logged);
}

// Begins the entry of a launch in the WorkLog. Empty if no detailed log is kept.
LoggedWork Channel::logged_from_here(const What& what, const std::vector<at::Tensor>& tensors) const {
  if (WorkLog::current_if_detailed() == nullptr || api().record_time == nullptr) return {};
  LoggedWork work{.kind = LoggedWork::Kind::collective,
                  .name = fmt::format("{} {}", what.operation, caller_of(what)),
                  .stream = StreamRole::communicate,
                  .begun = api().record_time(options_.device, stream_)};
  for (const at::Tensor& tensor : tensors) work.bytes = std::max<std::uint64_t>(work.bytes, tensor.nbytes());
  return work;
}

// Measures how long the caller's stream waits for the launches.
WorkTimer Channel::stall_from_here(const std::string& caller) const {
  WorkLog* const log = WorkLog::current_if_detailed();
  if (log == nullptr) return {};
  Device& device = device_of({api().device_type, static_cast<c10::DeviceIndex>(options_.device)});
  const StreamRole role = device.current_stream();
  if (!computes(role)) return {};
  return {log, device, {.kind = LoggedWork::Kind::stall, .name = "wait for " + caller, .stream = role}};
}

void Channel::add_to_log(LoggedWork work) const {
  if (work.name.empty()) return;
  work.done = api().record_time(options_.device, stream_);
  WorkLog::current()->add(std::move(work));
}

void Channel::wait(const std::string& caller) {
  const What what{"wait", "", "", caller};
  std::deque<Launch> gone;
  const std::lock_guard lock(mutex_);
  failed_.throw_if_set(what.operation, caller_of(what), backend);
  drop_done(gone);
  if (launches_.empty()) return;
  require_cuda(api().use_device(options_.device), what);
  // A stream runs in order: when the last launch is done, all are.
  WorkTimer stall = stall_from_here(caller);
  require_cuda(api().stream_waits(api().current_stream(options_.device), launches_.back().done), what);
  stall.end();
}

void Channel::finish(const char* operation) {
  std::deque<Launch> gone;
  std::unique_lock lock(mutex_);
  enter_device();
  while (true) {
    failed_.throw_if_set(operation, group().name, backend);
    drop_done(gone);
    if (launches_.empty()) return;
    if (api().work_for != nullptr) api().work_for(launches_.back().done);
    changed_.wait_for(lock, poll_period);
  }
}

void Channel::close() noexcept {
  const What what{"close", "", ""};
  try {
    finish(what.operation);
    const std::lock_guard lock(mutex_);
    require(settled(api().finalize(comm_), what), what);
    ended_ = api().destroy(comm_) == success;
  } catch (const std::exception&) {  // the channel had failed, and its user has had the error
  }
}

void Channel::check(const std::string& caller) const {
  failed_.throw_if_set("check", caller, backend);
}

void Channel::abort(const std::string& reason) noexcept {
  failed_.set("aborted: " + reason);
  options_.witnesses->abort(group().name, reason);
  changed_.notify_all();
}

// A thread that has not chosen its device uses the first GPU, and CUDA would take some 500 MB
// of that GPU's memory.
void Channel::enter_device() const noexcept {
  static_cast<void>(api().use_device(options_.device));
}

void Channel::look() {
  if (ended_) return;
  enter_device();
  if (failed_.is_set()) return end_communicator();
  std::deque<Launch> gone;
  auto lock = lock_within(mutex_, look_patience);
  if (!lock.owns_lock() || ended_) return;  // a thread is in settled(), which looks for errors itself
  int result = success;
  api().async_error(comm_, &result);
  std::optional<std::string> reason;
  auto patience = std::clamp(timeout_.load(), answer_patience, witness_patience);
  if (result != success && result != in_progress) {
    patience = is_of_a_peer(result) ? answer_patience : milliseconds{0};
    reason = fmt::format("{}: {}", api().text_of(result), api().last_error(comm_));
  } else {
    drop_done(gone);
    if (!gone.empty()) changed_.notify_all();
    reason = overdue();
  }
  if (!reason) return;
  const What what = launches_.empty() ? What{"watch", "", ""} : launches_.front().what;
  lock.unlock();
  fail(what, *reason, patience);
}

// Returns why the oldest launch is too late, if it is. All later launches wait for it.
std::optional<std::string> Channel::overdue() {
  if (launches_.empty()) return std::nullopt;
  Launch& oldest = launches_.front();
  const int result = api().query(oldest.done);
  if (result != success && result != not_ready) return fmt::format("CUDA: {}", api().cuda_text_of(result));
  const auto now = steady_clock::now();
  if (oldest.since == Time{} && api().query(oldest.ready) == success) oldest.since = now;
  if (oldest.since == Time{} || now - oldest.since < timeout_.load()) return std::nullopt;
  if (api().work_for != nullptr) api().work_for(oldest.done);
  if (api().query(oldest.done) == success) return std::nullopt;
  return fmt::format("not done {} ms after it could begin", timeout_.load().count());
}

// Waits until the communicator has completed the call, and returns its result.
int Channel::settled(int result, const What& what) {
  const auto begin = steady_clock::now(), deadline = begin + timeout_.load();
  while (result == in_progress) {
    if (options_.ended && options_.ended->is_set()) failed_.set(options_.ended->reason());
    failed_.throw_if_set(what.operation, caller_of(what), backend);
    if (steady_clock::now() > deadline) {
      failed_.set(
          fmt::format("the ranks {} did not all come within {} ms", members(), timeout_.load().count()));
      continue;
    }
    if (steady_clock::now() - begin < spin_patience) {
      std::this_thread::yield();
    } else {
      std::this_thread::sleep_for(poll_period);
    }
    api().async_error(comm_, &result);
  }
  return result;
}

void Channel::require(int result, const What& what) {
  if (result == success) return;
  failed_.set(fmt::format("{}: {}: {}", launch_text(what), api().text_of(result),
                          comm_ == nullptr ? "" : api().last_error(comm_)));
  failed_.throw_if_set(what.operation, caller_of(what), backend);
}

void Channel::require_cuda(int result, const What& what) {
  if (result == success) return;
  failed_.set(fmt::format("{}: CUDA: {}", launch_text(what), api().cuda_text_of(result)));
  failed_.throw_if_set(what.operation, caller_of(what), backend);
}

Event Channel::take_event(const What& what) {
  Event event = nullptr;
  if (events_.empty()) {
    require_cuda(api().create_event(&event), what);
    return event;
  }
  event = events_.back();
  events_.pop_back();
  return event;
}

void Channel::drop_done(std::deque<Launch>& gone) {
  while (!launches_.empty() && api().query(launches_.front().done) == success) {
    Launch& done = launches_.front();
    events_.push_back(done.ready);
    events_.push_back(done.done);
    gone.push_back(std::move(done));
    launches_.pop_front();
  }
}

std::string Channel::members() const {
  return fmt::format("{}", fmt::join(group().ranks, ", "));
}

std::string Channel::launch_text(const What& what) const {
  if (!what.with.empty()) return fmt::format("{}{}{}", what.operation, what.shape, what.with);
  return fmt::format("{}{} of ranks {}", what.operation, what.shape, members());
}

void Channel::fail(const What& what, const std::string& reason, milliseconds patience) {
  const std::string told =
      patience == milliseconds{0} ? "" : "; " + options_.witnesses->compare(group().name, patience);
  failed_.set(fmt::format("{}: {}{}", launch_text(what), reason, told));
  changed_.notify_all();
  end_communicator();
}

void Channel::end_communicator() noexcept {
  const auto lock = lock_within(mutex_, call_patience);
  if (comm_ == nullptr || ended_.exchange(true)) return;
  // NCCL may block there until the peers have aborted as well, and the watch has deadlines of other groups to keep.
  ending_ = std::jthread([this] {
    enter_device();
    api().abort(comm_);
    changed_.notify_all();
  });
}

}  // namespace d9d::nccl
