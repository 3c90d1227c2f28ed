#pragma once
// The cache of a gated delta net: for each sequence the states of the heads and the
// last inputs of the convolution.

#include <vector>

#include "runtime/nn/attention/block_cache.hpp"

namespace d9d {

class DeltaCache final : public BlockCache {
 public:
  // `taps`: tokens that the convolution reads.
  DeltaCache(const CacheSize& size, std::int64_t taps) : size_(size), taps_(taps) {}

  // Convolves the new tokens x [1, T, H, W], together with the taps - 1 tokens before them ->
  // [1, T, H, W]. `convolve` does so for whole sequences [B, S, H, W]. `input`: the number of x
  // among the block's inputs, from 0.
  template <class Convolve>
  at::Tensor convolved(std::size_t input, const at::Tensor& x, const NewTokens& tokens,
                       const Convolve& convolve) {
    std::vector<at::Tensor> results;
    for (const Group& group : equal_stretches(tokens)) {
      const at::Tensor all = with_last(input, x, tokens, group);
      results.push_back(
          convolve(all).narrow(1, taps_ - 1, group.count).reshape({1, -1, x.size(2), x.size(3)}));
    }
    return joined(std::move(results), x);
  }
  // Returns the states [N, heads, Dk, Dv] for `sizes` (heads, Dk, Dv), with dtype and device of `like`. They
  // are zero where a sequence begins.
  at::Tensor states(at::IntArrayRef sizes, const at::Tensor& like, const NewTokens& tokens);

 private:
  // Adjacent stretches with equally many tokens.
  struct Group {
    std::int64_t first, count;  // the first token; tokens of each stretch
    std::vector<std::int64_t> sequences, begun;
  };
  static std::vector<Group> equal_stretches(const NewTokens& tokens);
  at::Tensor with_last(std::size_t input, const at::Tensor& x, const NewTokens& tokens, const Group& group);
  static at::Tensor joined(std::vector<at::Tensor> results, const at::Tensor& like);

  CacheSize size_;
  std::int64_t taps_;
  std::vector<at::Tensor> last_;  // by input: [N, taps - 1, H, W]
  at::Tensor states_;
};

}  // namespace d9d
