#pragma once
// Where the ranks of one group meet as threads of one process. Each rank writes a description of its call,
// waits for all others, and then reads their buffers. A thread waits by a short bounded spin and then a
// futex, because ranks may share few cores.

#include <c10/core/ScalarType.h>
#include <boost/describe/enum.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/comm/abort_flag.hpp"
#include "runtime/comm/communicator.hpp"

namespace d9d::comm {

// A rank's description of the collective that it calls, for the other ranks of its group.
struct alignas(64) Call {
  enum class Kind : std::uint8_t {
    all_reduce,
    reduce_scatter,
    all_gather,
    gather_shards,
    sum_to_shards,
    all_to_all,
    broadcast,
    barrier
  };
  BOOST_DESCRIBE_NESTED_ENUM(Kind, all_reduce, reduce_scatter, all_gather, gather_shards, sum_to_shards,
                             all_to_all, broadcast, barrier)
  static constexpr std::size_t inline_bytes = 256;

  Kind kind = Kind::barrier;
  ReduceOp op = ReduceOp::sum;
  c10::ScalarType dtype = c10::ScalarType::Byte;
  int root = 0;
  std::int64_t numel = 0;      // must be equal on all ranks; 0 for all_to_all
  std::int64_t row_bytes = 0;  // of all_to_all
  const void* input = nullptr;
  void* output = nullptr;
  std::vector<std::int64_t> input_splits;
  std::vector<std::int64_t> output_splits;
  std::array<std::byte, inline_bytes> values;  // of a small all_reduce, instead of input and output
};
const char* name_of(Call::Kind kind);

class Meeting {
 public:
  // `ranks`: the global ranks. They and `backend` are for error texts.
  Meeting(std::string group, std::vector<int> ranks, std::string backend = "shared_memory");

  int size() const { return static_cast<int>(ranks_.size()); }
  const std::string& group() const { return group_; }
  const std::vector<int>& ranks() const { return ranks_; }

  // Returns a rank's call of its operation number `operation`. The rank writes it before it arrives, and all
  // read it afterwards. It stays readable until that rank has arrived twice more.
  Call& call(int rank, std::uint64_t operation) { return calls_[2 * rank + operation % 2]; }

  // Begins an operation. Returns when all ranks have arrived with their calls written; from then on every
  // rank must reach finish() in bounded time. Environment error on all ranks if the group fails before all
  // have arrived. A timeout names the missing ranks and fails the group.
  void arrive(int rank, const char* operation, std::chrono::milliseconds timeout);
  // Ends the operation. Returns when all ranks are done with each other's buffers, even if the group fails
  // meanwhile, because until then no rank may free its buffers.
  void finish(int rank);
  // Compares the calls of all ranks. Throws on all ranks a bug error that names two that differ. To be
  // called after arrive() and before any buffer is touched.
  void check_same_call(std::uint64_t operation);

  // Fails the group and wakes all waiting ranks. From any thread.
  void fail(const std::string& reason) noexcept;
  bool failed() const noexcept { return aborted_.is_set(); }
  [[noreturn]] void throw_failed(const char* operation) const;

  // Takes a position; returns false if it is taken. A rank that leaves fails the group.
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
  // Bit 0: the group has failed. The other bits count completed phases. Both are in one word, so that all
  // ranks see "all have arrived" and "the group failed" in the same order.
  alignas(64) std::atomic<std::uint32_t> word_ = 0;
  alignas(64) std::atomic<int> arrived_ = 0;
  AbortFlag aborted_;
};

}  // namespace d9d::comm
