#include "runtime/data/source/sharding.hpp"

#include <algorithm>

#include "runtime/base/error.hpp"

namespace d9d {

Shard::Shard(Options options)
    : options_(options),
      chunk_(options.num_shards == 0 ? 0
                                     : options.num_items / options.num_shards +
                                           (options.num_items % options.num_shards != 0 ? 1 : 0)) {
  D9D_REQUIRE(options.shard < options.num_shards, "shard {} of {}, expected 0 to {} - 1", options.shard,
              options.num_shards, options.num_shards);
  D9D_REQUIRE(options.num_items > 0 || !options.pad_to_equal_size,
              "shards of no items cannot be padded: there is no last item to repeat");
}

std::uint64_t Shard::size() const {
  if (options_.pad_to_equal_size) return chunk_;
  if (options_.mode == ShardMode::chunked) {
    const std::uint64_t begin = std::min(options_.num_items, options_.shard * chunk_);
    return std::min(chunk_, options_.num_items - begin);
  }
  return options_.num_items / options_.num_shards +
         (options_.shard < options_.num_items % options_.num_shards ? 1 : 0);
}

std::uint64_t Shard::item_at(std::uint64_t index) const {
  D9D_CHECK(index < size(), "item {} of a shard of {}", index, size());
  return std::min(unpadded_item(index), options_.num_items - 1);
}

std::uint64_t Shard::unpadded_item(std::uint64_t index) const {
  if (options_.mode == ShardMode::chunked) return options_.shard * chunk_ + index;
  return index * options_.num_shards + options_.shard;
}

}  // namespace d9d
