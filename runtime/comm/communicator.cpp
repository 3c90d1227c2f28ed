#include "runtime/comm/communicator.hpp"

#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

#include <algorithm>

#include "runtime/comm/checks.hpp"

namespace d9d {
namespace {

std::int64_t longest_of(const ShardMap& map) {
  return *std::max_element(map.shard_sizes.begin(), map.shard_sizes.end());
}

// One block of zeros per rank, each as long as the longest shard: all_gather and
// reduce_scatter need equal blocks.
at::Tensor blocks_of(const ShardMap& map, const at::TensorOptions& options) {
  const auto ranks = static_cast<std::int64_t>(map.shard_sizes.size());
  // Zeros, because reduce_scatter sums the padding as well.
  return at::zeros({ranks, longest_of(map)}, options);
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

void Communicator::start_gather_shards(at::Tensor& whole, const at::Tensor& shard, const ShardMap& map) {
  comm::check_shards(whole, shard, map, rank(), size(), name());
  at::Tensor blocks = blocks_of(map, whole.options());
  at::Tensor own = shard;
  if (shard.numel() < blocks.size(1)) {
    own = at::zeros({blocks.size(1)}, shard.options());
    own.narrow(0, 0, shard.numel()).copy_(shard);
  }
  all_gather(blocks, own).wait();
  for (const ShardPiece& piece : map.pieces) {
    whole.narrow(0, piece.in_whole, piece.count)
        .copy_(blocks[piece.rank].narrow(0, piece.in_shard, piece.count));
  }
}

void Communicator::start_sum_to_shards(at::Tensor& shard, const at::Tensor& whole, const ShardMap& map) {
  comm::check_shards(whole, shard, map, rank(), size(), name());
  at::Tensor blocks = blocks_of(map, whole.options());
  for (const ShardPiece& piece : map.pieces) {
    blocks[piece.rank]
        .narrow(0, piece.in_shard, piece.count)
        .copy_(whole.narrow(0, piece.in_whole, piece.count));
  }
  at::Tensor own = at::empty({blocks.size(1)}, shard.options());
  reduce_scatter(own, blocks, ReduceOp::sum).wait();
  shard.copy_(own.narrow(0, 0, shard.numel()));
}

}  // namespace d9d
