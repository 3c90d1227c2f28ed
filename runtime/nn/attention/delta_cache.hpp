#pragma once
// What a gated delta net keeps of each sequence: the states of its heads, the last inputs of its convolution.

#include <vector>

#include "runtime/nn/attention/block_cache.hpp"

namespace d9d {

class DeltaCache final : public BlockCache {
 public:
  // The convolution reads `taps` tokens.
  DeltaCache(const CacheSize& size, std::int64_t taps) : size_(size), taps_(taps) {}

  // The convolution over the new tokens x [1, T, H, W] and the taps - 1 before them, by `convolve` on whole
  // sequences [B, S, H, W] -> [1, T, H, W]. `input`: which of the block's inputs x is, 0, 1, ...
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
  // [N, heads, Dk, Dv] for `sizes` (heads, Dk, Dv), dtype and device of `like`; zero where a sequence begins.
  at::Tensor states(at::IntArrayRef sizes, const at::Tensor& like, const NewTokens& tokens);

 private:
  // Stretches with equally many tokens, one behind the other.
  struct Group {
    std::int64_t first, count;  // token, tokens of each stretch
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
