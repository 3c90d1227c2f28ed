#pragma once
// Caches for generation: what the blocks of a layer keep of a sequence's tokens, so that later tokens need
// not compute it again. A pass computes new tokens of several sequences, packed one sequence after the other
// as one row [1, T, ..], so that sequences of any lengths need no padding. Filling tokens, which belong to
// no sequence, may follow where ranks share a pass evenly; ignore their results.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "kernels/ops/cache_ops.hpp"
#include "runtime/nn/block/cache_sizes.hpp"

namespace d9d {

// The new tokens of one pass, a stretch for each sequence. A stretch with past 0 begins its sequence anew.
struct NewTokens {
  kernels::CacheStretches stretches;

  std::int64_t counted() const;
  // Positions of `total` tokens, int64 [1, total] on the CPU; 0 for filling tokens.
  at::Tensor positions(std::int64_t total) const;
  // The length of each token's sequence with the new tokens, int64 [1, total] on the CPU; of filling tokens that of
  // the last.
  at::Tensor lengths(std::int64_t total) const;
  // Uploads `numbers` as int64 [n]. Blocks that ask for the same numbers in this pass get the same tensor.
  const at::Tensor& indices(const std::vector<std::int64_t>& numbers, c10::Device place) const;

  mutable std::map<std::pair<std::vector<std::int64_t>, std::string>, at::Tensor> uploaded = {};
};

// The cache of one block. Only the block itself makes and reads it.
class BlockCache {
 public:
  virtual ~BlockCache() = default;
};

}  // namespace d9d
