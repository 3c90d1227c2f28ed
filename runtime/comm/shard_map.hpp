#pragma once
// How a flat tensor is divided into the shards of the ranks of a group: which range of the whole is
// which range of which rank's shard. Shards may differ in length and may be empty. Elements that no
// piece names are in no shard and stay unchanged. Pure integers, the same on every rank of the group.

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
