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

namespace d9d::delayed {

class Machine;
class Mark;

struct Block {
  Machine* machine;
  void* data;
  std::size_t size;
  int stream;                                                // it was made on
  std::uint32_t users = 0;                                   // a bit for each other stream that uses it
  std::vector<std::shared_ptr<const Mark>> used_until = {};  // by other streams, also of other devices
};

class Memory {
 public:
  Memory();
  ~Memory();
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  // At least so many bytes, those of a freed block of the same stream if one fits; else `fresh`.
  // c10::OutOfMemoryError.
  Block* take(Machine& machine, std::size_t bytes, int stream, bool& fresh);
  void give_back(Block* block);

  // Between the two calls it may be touched: by threads that run the device's work, or that of another device which
  // copies from here. Calls nest.
  void open();
  void close();

  std::size_t bytes_in_use() const;
  // All that it can have: begin and end.
  std::pair<std::uintptr_t, std::uintptr_t> addresses() const;

 private:
  void protect(bool opened, std::size_t begin, std::size_t end) const;

  mutable std::mutex mutex_;
  std::byte* begin_ = nullptr;
  std::size_t used_ = 0;  // bytes from begin_ on that were ever given out
  int opened_ = 0;
  std::size_t in_use_ = 0;
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
