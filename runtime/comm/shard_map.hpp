#pragma once
// How a flat tensor that is whole on every rank of a group lies in their shards: which stretch of it is which
// stretch of whose shard. Shards may differ in length and may be empty; elements that no piece names belong
// to nobody and are left as they are. Pure integers, the same on every rank of the group.

#include <cstdint>
#include <vector>

namespace d9d {

struct ShardPiece {
  int rank = 0;  // in the group
  std::int64_t in_whole = 0;
  std::int64_t in_shard = 0;
  std::int64_t count = 0;
};

struct ShardMap {
  std::int64_t whole_size = 0;
  std::vector<std::int64_t> shard_sizes;  // by rank
  std::vector<ShardPiece> pieces;         // without empty ones
};

}  // namespace d9d
