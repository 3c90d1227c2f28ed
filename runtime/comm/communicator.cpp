#include "runtime/comm/communicator.hpp"

#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

#include <algorithm>

#include "kernels/copy_pieces.hpp"
#include "runtime/comm/checks.hpp"

namespace d9d {
namespace {

std::int64_t longest_of(const ShardMap& map) {
  return *std::max_element(map.shard_sizes.begin(), map.shard_sizes.end());
}

// all_gather and reduce_scatter need equal blocks: one for each rank, as long as the longest shard.
std::int64_t size_of_blocks(const ShardMap& map) {
  return static_cast<std::int64_t>(map.shard_sizes.size()) * longest_of(map);
}

// The pieces with their places in the blocks instead of the shards.
kernels::CopiedPieces copied_pieces(const ShardMap& map, bool into_whole) {
  const std::int64_t block = longest_of(map);
  kernels::CopiedPieces copied;
  copied.reserve(map.pieces.size());
  for (const ShardPiece& piece : map.pieces) {
    const std::int64_t in_blocks = piece.rank * block + piece.in_shard;
    copied.push_back(into_whole ? kernels::CopiedPiece{piece.in_whole, in_blocks, piece.count}
                                : kernels::CopiedPiece{in_blocks, piece.in_whole, piece.count});
  }
  return copied;
}

// Whether the pieces fill all blocks.
bool is_without_padding(const ShardMap& map) {
  std::int64_t filled = 0;
  for (const ShardPiece& piece : map.pieces) filled += piece.count;
  return filled == size_of_blocks(map);
}

}  // namespace

void Pending::wait_for(Communicator& late) {
  late.wait();
}

void Communicator::begin_exchange(const at::Tensor& out, int receiver, at::Tensor&, int, int tag) {
  send(out, receiver, tag);
}

void Communicator::await_exchange(at::Tensor& in, int sender, int tag) {
  start_receive(in, sender, tag);
}

// Both move all pieces by one op. A device launches as many kernels for a unit of one tensor on 2 ranks as for one of
// 11 tensors on 8 ranks.
void Communicator::start_gather_shards(at::Tensor& whole, const at::Tensor& shard, const ShardMap& map) {
  comm::check_shards(whole, shard, map, rank(), size(), name());
  const std::int64_t block = longest_of(map);
  at::Tensor blocks = at::empty({size_of_blocks(map)}, whole.options());
  at::Tensor own = shard;
  if (shard.numel() < block) {
    own = at::zeros({block}, shard.options());
    own.narrow(0, 0, shard.numel()).copy_(shard);
  }
  all_gather(blocks, own).wait();
  kernels::copy_pieces(whole, blocks, copied_pieces(map, /*into_whole=*/true));
}

void Communicator::start_sum_to_shards(at::Tensor& shard, const at::Tensor& whole, const ShardMap& map) {
  comm::check_shards(whole, shard, map, rank(), size(), name());
  // Zeros, because reduce_scatter sums the padding as well.
  const at::Tensor blocks = is_without_padding(map) ? at::empty({size_of_blocks(map)}, whole.options())
                                                    : at::zeros({size_of_blocks(map)}, whole.options());
  kernels::copy_pieces(blocks, whole, copied_pieces(map, /*into_whole=*/false));
  const bool is_longest = shard.numel() == longest_of(map);
  at::Tensor own = is_longest ? shard : at::empty({longest_of(map)}, shard.options());
  reduce_scatter(own, blocks, ReduceOp::sum).wait();
  if (!is_longest) shard.copy_(own.narrow(0, 0, shard.numel()));
}

}  // namespace d9d
