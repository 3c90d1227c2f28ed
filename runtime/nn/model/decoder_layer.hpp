#pragma once
// One decoder layer: norm, attention, add, norm, feed-forward, add. The norm after an addition
// performs it, so between layers a hidden state is a pair of tensors that are still to be added. What attention
// and feed-forward give may be normed before it is added.

#include <functional>

#include "runtime/nn/attention/attention.hpp"
#include "runtime/nn/block/feed_forward.hpp"
#include "runtime/nn/model/unit_hook.hpp"

namespace d9d {

// A hidden state [B, S, H]: residual + delta, or residual alone where delta is undefined.
struct Residual {
  at::Tensor residual;
  at::Tensor delta;
  // ExpertBlock::take_router_sums() of the layers so far; undefined where no loss asks for them.
  at::Tensor router_sums = {};

  at::Tensor sum() const;
};

struct CachedPass;

// What all layers of a forward share; see RotaryTable.
struct LayerContext {
  at::Tensor cos, sin;
  at::Tensor window_cos, window_sin;  // of layers that turn by the windows' RoPE; undefined without any
  at::Tensor document_starts = {};    // see AttentionRule
  at::Tensor token_mask = {};         // of this rank's tokens, see FeedForward
  // In generation, otherwise null: the pass, and what the layer keeps of earlier ones.
  const CachedPass* pass = nullptr;
  BlockCache* cache = nullptr;
};

class DecoderLayer : public torch::nn::Module {
 public:
  Residual forward(const Residual& hidden, const LayerContext& context, bool recompute) const;

  Attention& attention() const { return *self_attn_; }
  FeedForward& feed_forward() const { return *mlp_; }

  Unit unit;

  std::unique_ptr<BlockCache> make_cache(const CacheSize& size) const { return self_attn_->make_cache(size); }

 protected:
  at::Tensor attended(const at::Tensor& x, const LayerContext& context) const;

  // A family's constructor makes its blocks in this order, which is that of the flat buffers.
  std::shared_ptr<RmsNorm> input_layernorm_;
  std::shared_ptr<Attention> self_attn_;
  std::shared_ptr<RmsNorm> attended_norm_;  // of what attention gives; null without
  std::shared_ptr<RmsNorm> post_attention_layernorm_;
  std::shared_ptr<FeedForward> mlp_;
  std::shared_ptr<RmsNorm> fed_norm_;  // of what the feed-forward block gives; null without
  bool window_rope_ = false;           // ModelDescription::window_rope is that of this layer
};

// Builds decoder layer `index` as a child of `layers`, named by its index.
using MakeLayer = std::function<std::shared_ptr<DecoderLayer>(ParameterMaker& make, torch::nn::Module& layers,
                                                              std::int64_t index)>;

// The hidden state as one tensor, normed -> (normed, sum).
std::pair<at::Tensor, at::Tensor> add_and_norm(const Residual& hidden, const RmsNorm& norm);

}  // namespace d9d
