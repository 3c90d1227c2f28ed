#pragma once
// How a flat tensor is divided into shards, one per rank of a group. A piece maps a range of the
// whole to a range of one rank's shard. Shards may differ in length and may be empty. Elements of
// the whole that are in no piece stay unchanged. Pure integers; the map must be the same on every
// rank of the group.

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
