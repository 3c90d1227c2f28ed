#pragma once
// Counts the memory of a device by its use, so that an error of a full device can say what needs it. No
// torch in this header.

#include <array>
#include <cstddef>
#include <cstdint>

namespace d9d {

// state: parameters, gradients, optimizer state, buffers.
// communication: parameters gathered from other ranks, gradients being sent, scratch memory of collectives.
// activations: everything else.
enum class MemoryPool { activations, state, communication };
inline constexpr std::size_t num_memory_pools = 3;
const char* name_of(MemoryPool pool);

using PoolBytes = std::array<std::uint64_t, num_memory_pools>;  // by MemoryPool
std::uint64_t total_of(const PoolBytes& bytes);

// Counts this thread's allocations, on any device, for the pool until the scope ends. Scopes nest;
// the inner one counts.
class PoolScope {
 public:
  explicit PoolScope(MemoryPool pool);
  ~PoolScope();
  PoolScope(const PoolScope&) = delete;
  PoolScope& operator=(const PoolScope&) = delete;

  static MemoryPool current();  // activations without a scope

 private:
  const MemoryPool previous_;
};

// Counts allocated bytes by pool. Not thread-safe.
class PoolCounts {
 public:
  void take(MemoryPool pool, std::uint64_t bytes);
  void give_back(MemoryPool pool, std::uint64_t bytes);
  void forget_peak() { at_peak_ = in_use_; }
  const PoolBytes& in_use() const { return in_use_; }
  const PoolBytes& at_peak() const { return at_peak_; }  // when the total was largest

 private:
  PoolBytes in_use_{}, at_peak_{};
};

// The memory of one device, in bytes.
struct DeviceMemory {
  PoolBytes in_use{}, at_peak{};
  std::uint64_t free = 0;
  std::uint64_t limit = 0;  // in total; 0: no limit
  // The most that each stream had, each at its own time, added up: what a stream frees serves that stream alone, so the
  // device has given out so much. 0: not counted.
  std::uint64_t of_streams = 0;
};

// The estimate of `d9d-node check` for a rank, in bytes.
struct ExpectedMemory {
  std::uint64_t state = 0;  // including parameters gathered from other ranks
  std::uint64_t activations = 0;
};

}  // namespace d9d
