#pragma once
// Orders samples so that neighbours have about the same length and the order is still random
// (DATA-01). It takes consecutive samples in buffers, sorts each buffer by key (equal keys at
// random), cuts it into packs, and shuffles the packs and the samples of each pack. The order of a
// buffer is a pure function of (seed, epoch, buffer), so it does not matter who asks for which
// part of it (W-28).

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "runtime/data/config/sample_order_config.hpp"

namespace d9d {

class BufferSorted {
 public:
  struct Options {
    std::uint64_t num_samples = 0;  // of an epoch
    SortedOrderConfig sizes;
    std::uint64_t seed = 0;
    std::uint64_t num_readers = 1;  // concurrent readers; at least as many buffers are kept
  };
  using SortKey = std::function<std::int64_t(std::uint64_t index)>;  // a pure function

  // Input error for packs that are larger than a buffer, since then nothing is sorted.
  BufferSorted(const Options& options, SortKey key);

  // Returns the sample's index in the unsorted order. Both indices count through the epochs. Any
  // number of threads may call it.
  std::uint64_t at(std::uint64_t index) const;

 private:
  using Order = std::vector<std::uint32_t>;  // within the buffer
  struct Buffer {
    std::uint64_t number = 0;  // through the epochs
    std::shared_ptr<const Order> order;
  };
  std::shared_ptr<const Order> order_of(std::uint64_t number, std::uint64_t begin, std::uint64_t count) const;
  Order make_order(std::uint64_t number, std::uint64_t begin, std::uint64_t count) const;

  const Options options_;
  const SortKey key_;
  const std::uint64_t buffers_;  // of an epoch
  const std::size_t kept_max_;
  mutable std::mutex mutex_;
  mutable std::deque<Buffer> kept_;  // the one used last at the front
};

}  // namespace d9d
