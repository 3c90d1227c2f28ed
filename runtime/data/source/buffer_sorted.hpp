#pragma once
// An order in which neighbours have similar length and that is random all the same (DATA-01). Items are taken
// in buffers of consecutive ones; in a buffer they are sorted by key (equal keys at random), cut into packs,
// and packs and the items of each pack are shuffled. A buffer's order is a pure function of (seed, epoch,
// buffer), so it does not matter who asks for which part of it (W-28).

#include <cstdint>
#include <functional>
#include <vector>

namespace d9d {

class BufferSortedOrder {
 public:
  struct Options {
    std::uint64_t num_items = 0;
    std::uint64_t buffer_size = 0;
    std::uint64_t pack_size = 0;
    std::uint64_t seed = 0;
  };
  using SortKey = std::function<std::int64_t(std::uint64_t item)>;

  // Sizes below 1 are an input error. `key` is asked once per item when its buffer is made.
  BufferSortedOrder(Options options, SortKey key);

  // The item at a global index; after num_items the next epoch begins. Keeps the buffer it made last, so
  // asking in order costs one sort per buffer. One thread.
  std::uint64_t item_at(std::uint64_t index);

 private:
  std::vector<std::uint64_t> make_order(std::uint64_t epoch, std::uint64_t buffer) const;

  const Options options_;
  const SortKey key_;
  std::uint64_t epoch_ = 0;
  std::uint64_t buffer_ = 0;
  std::vector<std::uint64_t> order_;  // of that buffer; empty before the first
};

}  // namespace d9d
