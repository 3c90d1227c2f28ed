#pragma once
// What the memory of a device is for, so that who runs out of it sees what took it. No torch.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

namespace d9d {

// state: parameters, gradients, optimizer, buffers. communication: what is gathered of others' parameters, gradients on
// their way, and what collectives make. activations: all else.
enum class MemoryPool { activations, state, communication };
inline constexpr std::size_t num_memory_pools = 3;
const char* name_of(MemoryPool pool);

using PoolBytes = std::array<std::uint64_t, num_memory_pools>;  // by MemoryPool
std::uint64_t total_of(const PoolBytes& bytes);

// What this thread makes on any device until the scope ends is of the pool; scopes nest, and the inner one counts.
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

// Bytes that are taken and given back. Not to be used by two threads at a time.
class PoolCounts {
 public:
  void take(MemoryPool pool, std::uint64_t bytes);
  void give_back(MemoryPool pool, std::uint64_t bytes);
  const PoolBytes& in_use() const { return in_use_; }
  const PoolBytes& at_peak() const { return at_peak_; }  // when most was in use

 private:
  PoolBytes in_use_{}, at_peak_{};
};

// Of one device.
struct DeviceMemory {
  PoolBytes in_use{}, at_peak{};
  std::uint64_t free = 0;   // can be had yet
  std::uint64_t limit = 0;  // all that it has; 0: no limit
};

// What `d9d-node check` estimates of a rank.
struct ExpectedMemory {
  std::uint64_t state = 0;  // with what is gathered of others' parameters
  std::uint64_t activations = 0;
};

}  // namespace d9d
