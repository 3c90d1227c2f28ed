#pragma once
// Gated DeltaNet (Yang, Kautz and Hatamizadeh 2024, arXiv 2412.06464) with the parameters of transformers'
// Qwen3-Next. In place of attention each value head has a state that decays (delta_gates.hpp) and is written
// by the delta rule (delta_rule.hpp). Queries, keys and values go through a short causal convolution with
// SiLU. Each head's output is normed and multiplied with silu(z).
//   in_proj_qkvz [.., H]  per key head: query, key, values and z of its value heads
//   in_proj_ba   [.., H]  per key head: b (beta before its sigmoid) of its value heads, then a (of the decay)
//   conv1d [C, 1, K]      C: all queries, all keys, all values
//   A_log, dt_bias [value heads], norm [value head dim], out_proj [H, values]
// With DecayGate::logsigmoid there are no A_log and dt_bias (gated linear attention; not of transformers).
// States and convolution start from zeros at each sequence of the batch, and at each document of a row that
// holds several. They do not use positions.

#include <functional>

#include "kernels/ops/recurrent_ops.hpp"
#include "runtime/nn/attention/attention.hpp"
#include "runtime/nn/block/block_options.hpp"
#include "runtime/nn/block/leaf.hpp"

namespace d9d {

// weight [channels, 1, taps], starts normal.
struct ShortConvolution : torch::nn::Module {
  ShortConvolution(ParameterMaker& make, std::int64_t channels, std::int64_t taps);

  at::Tensor weight;
};

class GatedDeltaNet final : public Attention {
 public:
  GatedDeltaNet(ParameterMaker& make, const DeltaNetOptions& options);

  // Ignores cos and sin.
  at::Tensor forward(const at::Tensor& x, const at::Tensor& cos, const at::Tensor& sin,
                     const at::Tensor& document_starts = {}) const override;
  std::unique_ptr<BlockCache> make_cache(const CacheSize& size) const override;
  at::Tensor forward_cached(const at::Tensor& x, const at::Tensor& cos, const at::Tensor& sin,
                            BlockCache& cache, const NewTokens& tokens) const override;
  // Shards the projections, A_log and dt_bias by key heads and their value heads. The convolution stays
  // whole; a rank reads the rows of its heads.
  void shard(TensorParallel& tensor, const ActivationShards& tokens) override;
  std::int64_t num_heads() const override { return key_heads_ * group_; }
  // Throws an input error: the ranks would have to pass states on to each other.
  void set_core(std::shared_ptr<const AttentionCore> core) override;

 private:
  // The inputs of the delta rule.
  struct DeltaInputs {
    at::Tensor q, k, v, decay, beta;
  };
  using Convolve = std::function<std::vector<at::Tensor>(const kernels::ConvolutionInputs& qkv)>;
  using Mix = std::function<at::Tensor(const std::vector<at::Tensor>& qkv, const at::Tensor& gates)>;
  at::Tensor around(const at::Tensor& x, const Mix& mix) const;
  DeltaInputs delta_inputs(const std::vector<at::Tensor>& qkv, const at::Tensor& gates,
                           const Convolve& convolve) const;
  kernels::DeltaRuleOptions rule() const;
  at::Tensor mixed(const std::vector<at::Tensor>& qkv, const at::Tensor& gates) const;
  at::Tensor mixed_by_document(const std::vector<at::Tensor>& qkv, const at::Tensor& gates,
                               const at::Tensor& document_starts) const;

  DeltaNetOptions options_;
  std::int64_t key_heads_, first_key_head_ = 0;  // of this rank
  std::int64_t group_;                           // value heads of a key head
  std::shared_ptr<Linear> in_proj_qkvz_, in_proj_ba_, out_proj_;
  std::shared_ptr<ShortConvolution> conv1d_;
  std::shared_ptr<RmsNorm> norm_;
  at::Tensor dt_bias_, log_rate_;  // undefined with DecayGate::logsigmoid
  ActivationShards tokens_;
};

}  // namespace d9d
