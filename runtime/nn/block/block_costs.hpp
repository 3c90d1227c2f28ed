#pragma once
// The costs of blocks, counted from their sizes: for `d9d-node check`, throughput and schedules. No torch.

#include <cstdint>

#include "runtime/nn/block/block_options.hpp"

namespace d9d {

// Values that are kept between forward and backward are counted per token: `own` for each token of this rank,
// `gathered` for each token gathered from the ranks of tensor parallelism.

// The results that ops of one kind keep in a checkpointed layer (KeptKind).
struct ResultCosts {
  std::int64_t own = 0;  // elements of the model's dtype
  std::int64_t gathered = 0;
  std::int64_t side_own = 0;  // bytes of fp32 and int64 values: log-sum-exp, routes
  std::int64_t side_gathered = 0;

  ResultCosts& operator+=(const ResultCosts& other);
};

// What a block keeps of each sequence, for the tokens after it, while texts are made (cache_sizes.hpp).
struct CacheCosts {
  std::int64_t of_token = 0;     // elements of the model's dtype for each token that there is room for
  std::int64_t of_sequence = 0;  // elements of the model's dtype, however long it is
  std::int64_t side = 0;         // bytes of fp32 values, however long it is

  CacheCosts& operator+=(const CacheCosts& other);
};

// The costs of a layer or of a part of one.
struct BlockCosts {
  std::int64_t parameters = 0;
  std::int64_t experts = 0;   // parameters that expert parallelism deals out; included in `parameters`
  std::int64_t active = 0;    // parameters used by one token
  std::int64_t products = 0;  // active weights that multiply a vector: no norms, no biases
  std::int64_t attended = 0;  // multiply-adds per key that a query sees
  std::int64_t carried = 0;   // multiply-adds per token for a state that is carried along the sequence
  bool causal = true;         // else a query sees the keys after its own, too
  std::int64_t window = 0;    // as in AttentionRule
  std::int64_t kept_own = 0;  // elements of the model's dtype
  std::int64_t kept_gathered = 0;
  std::int64_t side_own = 0;  // bytes of fp32 and int64 values: norm factors, log-sum-exp, routes
  std::int64_t side_gathered = 0;
  ResultCosts attention_results, linear_results, expert_results;
  // Elements of own tokens: results of row-parallel products that the layer reads when it is computed again.
  std::int64_t summed = 0;
  CacheCosts cached;
  // What its forward or backward works with at once beside the inputs, at most; of several blocks that of the largest.
  ResultCosts work;

  BlockCosts& operator+=(const BlockCosts& other);
};

// The costs on the first rank of tensor parallelism over `ranks`. Norms and routed
// experts are whole on every rank.
BlockCosts norm_costs(std::int64_t width);
BlockCosts attention_costs(const AttentionOptions& options, int ranks = 1);
BlockCosts latent_attention_costs(const LatentAttentionOptions& options, int ranks = 1);
BlockCosts delta_net_costs(const DeltaNetOptions& options, int ranks = 1);
BlockCosts swiglu_costs(const SwiGluOptions& options, int ranks = 1);
BlockCosts mixture_costs(const MoeOptions& options, int ranks = 1);

}  // namespace d9d
