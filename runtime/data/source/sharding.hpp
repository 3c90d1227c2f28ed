#pragma once
// One shard of a data set of n items (DATA-03), as a pure function: for providers that read their own part of
// files. The loaders of d9d do not need it: they take their rows out of one global order.

#include <cstdint>

namespace d9d {

enum class ShardMode {
  sequential,  // item = index x num_shards + shard
  chunked,     // blocks of ceil(n / num_shards)
};

class Shard {
 public:
  struct Options {
    std::uint64_t num_items = 0;
    std::uint64_t num_shards = 1;
    std::uint64_t shard = 0;
    ShardMode mode = ShardMode::sequential;
    bool pad_to_equal_size =
        true;  // all shards have ceil(n / num_shards) items; those too many are the last item
  };

  // No shards, a shard that is not one of them, or padding without any item is an input error.
  explicit Shard(Options options);

  std::uint64_t size() const;
  // The item at index < size().
  std::uint64_t item_at(std::uint64_t index) const;

 private:
  std::uint64_t unpadded_item(std::uint64_t index) const;

  const Options options_;
  const std::uint64_t chunk_;  // ceil(n / num_shards)
};

}  // namespace d9d
