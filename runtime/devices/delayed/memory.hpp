#pragma once
// The memory of one delayed device: addresses that are protected except while its work runs. Freed blocks are kept
// for the stream that they were made on. Any thread.

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "runtime/device/memory_pools.hpp"

namespace d9d::delayed {

class Machine;
class Mark;

struct Block {
  Machine* machine;
  void* data;
  std::size_t size;
  std::size_t taken;                                         // of them, as counted: a GPU splits a larger one
  int stream;                                                // it was made on
  std::uint32_t users = 0;                                   // a bit for each other stream that uses it
  std::vector<std::shared_ptr<const Mark>> used_until = {};  // by other streams, also of other devices
  bool trimmed = false;                                      // its pages are gone, and with them the poison
  MemoryPool pool = MemoryPool::activations;
};

class Memory {
 public:
  // Of at most `limit` bytes at a time; 0: as many as there are addresses.
  explicit Memory(std::size_t limit);
  ~Memory();
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  // At least so many bytes, those of a freed block of the same stream if one fits; else, and without its pages,
  // `fresh`. Null where there are no more.
  Block* take(Machine& machine, std::size_t bytes, int stream, bool& fresh);
  void give_back(Block* block);
  // The pages of freed blocks go back to the system.
  void trim();

  // Between the two calls it may be touched: by threads that run the device's work, or that of another device which
  // copies from here. Calls nest.
  void open();
  void close();

  std::size_t bytes_in_use() const;
  DeviceMemory pools() const;
  void forget_peaks();  // they are those from now on
  // All that it can have: begin and end.
  std::pair<std::uintptr_t, std::uintptr_t> addresses() const;

 private:
  void count(const Block& block);  // that it was taken
  void protect(bool opened, std::size_t begin, std::size_t end) const;

  mutable std::mutex mutex_;
  std::byte* begin_ = nullptr;
  std::size_t used_ = 0;  // bytes from begin_ on that were ever given out
  int opened_ = 0;
  const std::size_t limit_;
  PoolCounts counts_;
  struct StreamBytes {
    std::size_t in_use = 0, at_peak = 0;
  };
  std::map<int, StreamBytes> by_stream_;
  std::vector<std::unique_ptr<Block>> blocks_;
  std::map<int, std::multimap<std::size_t, Block*>> free_;  // by stream, by size
};

// It may be touched until the scope ends.
class OpenMemory {
 public:
  explicit OpenMemory(Memory& memory) : memory_(memory) { memory_.open(); }
  ~OpenMemory() { memory_.close(); }
  OpenMemory(const OpenMemory&) = delete;
  OpenMemory& operator=(const OpenMemory&) = delete;

 private:
  Memory& memory_;
};

}  // namespace d9d::delayed
