#pragma once
// Where the ranks of one group, threads of one process, meet: each brings a
// description of its call, all wait for all, and then read each other's buffers.
// Waiting is a short bounded spin and then a futex: ranks share few cores.

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "runtime/comm/abort_flag.hpp"
#include "runtime/comm/call.hpp"

namespace d9d::comm {

class Meeting {
 public:
  // `ranks` are the global ranks; they and `backend` are for texts.
  Meeting(std::string group, std::vector<int> ranks, std::string backend = "shared_memory");

  int size() const { return static_cast<int>(ranks_.size()); }
  const std::string& group() const { return group_; }
  const std::vector<int>& ranks() const { return ranks_; }

  // A rank's call of its n-th operation. Written by that rank before it arrives, read by all after; it stays
  // readable until that rank has arrived twice more.
  Call& call(int rank, std::uint64_t operation) { return calls_[2 * rank + operation % 2]; }

  // Begins an operation: returns when all ranks have arrived with their calls written; every rank
  // then reaches finish() in bounded time. Otherwise no rank goes on: environment error when the
  // group fails before all have arrived. A timeout names the missing ranks and fails the group.
  void arrive(int rank, const char* operation, std::chrono::milliseconds timeout);
  // Ends what arrive() began: returns when all ranks are done with each other's buffers,
  // even if the group fails meanwhile, because until then no rank may free its buffers.
  void finish(int rank);
  // Throws a bug error on all ranks, before any of them touches a buffer, that names the ranks that differ.
  void check_same_call(std::uint64_t operation);

  // From any thread: wakes all who wait.
  void fail(const std::string& reason) noexcept;
  bool failed() const noexcept { return aborted_.is_set(); }
  [[noreturn]] void throw_failed(const char* operation) const;

  // Takes a position; false if it is taken. A rank that leaves ends the group.
  bool enter(int rank);
  void leave(int rank) noexcept;

 private:
  [[noreturn]] void fail_call(const std::string& text);
  void check_rows(std::uint64_t operation);
  std::string missing(std::uint64_t phase) const;

  const std::string group_, backend_;
  const std::vector<int> ranks_;
  std::vector<Call> calls_;
  struct alignas(64) Phase {
    std::atomic<std::uint64_t> count = 0;
    std::atomic<bool> open = false;
  };
  std::vector<Phase> phases_;
  // Bit 0: failed. The other bits count completed phases. It is one word, so that all ranks see "all have
  // arrived" and "the group failed" in the same order.
  alignas(64) std::atomic<std::uint32_t> word_ = 0;
  alignas(64) std::atomic<int> arrived_ = 0;
  AbortFlag aborted_;
};

}  // namespace d9d::comm
