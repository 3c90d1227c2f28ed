#pragma once
// What the blocks of a layer keep of the tokens of sequences, so that the tokens that follow need not compute
// them again. A pass computes new tokens of several sequences: they are packed behind each other as one row
// [1, T, ..], so that sequences of any lengths need no padding. Where ranks share a pass evenly, tokens of no
// sequence may follow, whose results mean nothing.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "kernels/ops/cache_ops.hpp"

namespace d9d {

// Sequences have numbers 0 .. sequences - 1; each has room for so many tokens.
struct CacheSize {
  std::int64_t sequences = 0;
  std::int64_t tokens = 0;
};

// The new tokens of one pass, by sequence. A stretch with past 0 begins its sequence anew.
struct NewTokens {
  kernels::CacheStretches stretches;

  std::int64_t counted() const;
  // Of each of `total` tokens, int64 [1, total] on the CPU; 0 for those of no sequence.
  at::Tensor positions(std::int64_t total) const;
  // int64 [n] on a device; one tensor for all blocks that ask for the same numbers in this pass.
  const at::Tensor& indices(const std::vector<std::int64_t>& numbers, c10::Device place) const;

  mutable std::map<std::pair<std::vector<std::int64_t>, std::string>, at::Tensor> uploaded = {};
};

// What one block keeps; made and read by the block alone.
class BlockCache {
 public:
  virtual ~BlockCache() = default;
};

}  // namespace d9d
