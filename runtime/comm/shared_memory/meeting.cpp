#include "runtime/comm/shared_memory/meeting.hpp"

#include <fmt/ranges.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <boost/describe/enum_to_string.hpp>
#include <climits>
#include <ctime>

#include "runtime/base/error.hpp"

namespace d9d::comm {
namespace {

using Time = std::chrono::steady_clock::time_point;

static_assert(sizeof(std::atomic<std::uint32_t>) == sizeof(std::uint32_t), "a futex is the word itself");

void futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t value, std::chrono::nanoseconds most) {
  const std::timespec limit{static_cast<std::time_t>(most.count() / 1000000000), most.count() % 1000000000};
  syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, value, &limit, nullptr, 0);
}

void futex_wake_all(std::atomic<std::uint32_t>& word) {
  syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}

void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

std::uint32_t phase_of(std::uint32_t word) {
  return word >> 1;
}
bool failed_in(std::uint32_t word) {
  return (word & 1) != 0;
}

// Two or three microseconds, enough for a peer that is about to arrive. A longer spin would
// take its core away.
constexpr int spins_max = 64;

bool same(const Call& a, const Call& b) {
  return a.kind == b.kind && a.op == b.op && a.dtype == b.dtype && a.root == b.root && a.numel == b.numel &&
         a.row_bytes == b.row_bytes;
}

std::string text_of(const Call& call) {
  switch (call.kind) {
    case Call::Kind::barrier:
      return "barrier";
    case Call::Kind::all_to_all:
      return fmt::format("all_to_all({}, rows of {} bytes)", c10::toString(call.dtype), call.row_bytes);
    case Call::Kind::all_reduce:
    case Call::Kind::reduce_scatter:
      return fmt::format("{}({}, {} elements, {})", name_of(call.kind), c10::toString(call.dtype), call.numel,
                         name_of(call.op));
    case Call::Kind::broadcast:
      return fmt::format("broadcast({}, {} elements, root {})", c10::toString(call.dtype), call.numel,
                         call.root);
    case Call::Kind::all_gather:
    case Call::Kind::gather_shards:
    case Call::Kind::sum_to_shards:
      break;
  }
  return fmt::format("{}({}, {} elements)", name_of(call.kind), c10::toString(call.dtype), call.numel);
}

}  // namespace

const char* name_of(Call::Kind kind) {
  return boost::describe::enum_to_string(kind, "?");
}

Meeting::Meeting(std::string group, std::vector<int> ranks, std::string backend)
    : group_(std::move(group)),
      backend_(std::move(backend)),
      ranks_(std::move(ranks)),
      calls_(2 * ranks_.size()),
      phases_(ranks_.size()) {}

void Meeting::arrive(int rank, const char* operation, std::chrono::milliseconds timeout) {
  const std::uint32_t before = word_.load(std::memory_order_acquire);
  if (failed_in(before)) throw_failed(operation);
  const std::uint64_t phase = phases_[rank].count.fetch_add(1, std::memory_order_relaxed) + 1;
  if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == size()) {
    arrived_.store(0, std::memory_order_relaxed);
    // Completes the phase. The exchange fails only if the group has failed since `before`: then
    // no rank goes on.
    std::uint32_t expected = before;
    if (!word_.compare_exchange_strong(expected, before + 2, std::memory_order_acq_rel))
      throw_failed(operation);
    return futex_wake_all(word_);
  }
  const Time deadline = std::chrono::steady_clock::now() + timeout;
  for (int spin = 0;; ++spin) {
    const std::uint32_t now = word_.load(std::memory_order_acquire);
    if (phase_of(now) != phase_of(before)) return;
    if (failed_in(now)) throw_failed(operation);
    if (spin < spins_max) {
      pause();
      continue;
    }
    const std::chrono::nanoseconds left = deadline - std::chrono::steady_clock::now();
    // After fail() the loop goes on: the top sees whether the failure or the last rank came first.
    if (left.count() <= 0) {
      fail(fmt::format("{} did not come to {} within {} ms", missing(phase), operation, timeout.count()));
    } else {
      futex_wait(word_, now, left);
    }
  }
}

void Meeting::finish(int rank) {
  const std::uint32_t before = phase_of(word_.load(std::memory_order_acquire));
  phases_[rank].count.fetch_add(1, std::memory_order_relaxed);
  if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == size()) {
    arrived_.store(0, std::memory_order_relaxed);
    word_.fetch_add(2, std::memory_order_acq_rel);
    return futex_wake_all(word_);
  }
  for (int spin = 0;; ++spin) {
    const std::uint32_t now = word_.load(std::memory_order_acquire);
    if (phase_of(now) != before) return;
    spin < spins_max ? pause() : futex_wait(word_, now, std::chrono::seconds(1));
  }
}

void Meeting::check_same_call(std::uint64_t operation) {
  const Call& first = call(0, operation);
  for (int rank = 1; rank < size(); ++rank) {
    const Call& other = call(rank, operation);
    if (same(first, other)) continue;
    fail_call(fmt::format(
        "group {}: the ranks do not call the same operation number {}: rank {} calls {}, rank {} calls {}",
        group_, operation, ranks_[0], text_of(first), ranks_[rank], text_of(other)));
  }
  if (first.kind == Call::Kind::all_to_all) check_rows(operation);
}

void Meeting::check_rows(std::uint64_t operation) {
  for (int from = 0; from < size(); ++from) {
    for (int to = 0; to < size(); ++to) {
      const std::int64_t sent = call(from, operation).input_splits[to];
      const std::int64_t awaited = call(to, operation).output_splits[from];
      if (sent == awaited) continue;
      fail_call(fmt::format("group {}: in all_to_all number {} rank {} sends {} rows, rank {} awaits {}",
                            group_, operation, ranks_[from], sent, ranks_[to], awaited));
    }
  }
}

void Meeting::fail_call(const std::string& text) {
  fail(text);
  throw Error(ErrorKind::bug, text);
}

void Meeting::fail(const std::string& reason) noexcept {
  aborted_.set(reason);
  word_.fetch_or(1, std::memory_order_acq_rel);
  futex_wake_all(word_);
}

void Meeting::throw_failed(const char* operation) const {
  fail_in_group(operation, group_, backend_, aborted_.reason());
}

bool Meeting::enter(int rank) {
  return !phases_[rank].open.exchange(true);
}

void Meeting::leave(int rank) noexcept {
  phases_[rank].open = false;
  fail(fmt::format("rank {} has closed its communicator", ranks_[rank]));
}

std::string Meeting::missing(std::uint64_t phase) const {
  std::vector<int> absent;
  for (std::size_t rank = 0; rank < phases_.size(); ++rank) {
    if (phases_[rank].count.load(std::memory_order_relaxed) < phase) absent.push_back(ranks_[rank]);
  }
  return fmt::format("rank{} {}", absent.size() == 1 ? "" : "s", fmt::join(absent, ", "));
}

}  // namespace d9d::comm
