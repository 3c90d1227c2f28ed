#pragma once
// One decoder layer: norm, attention, add, norm, feed-forward, add. The norm after an addition does the
// addition, so between layers a hidden state is a pair of tensors that are still to be added. The outputs of
// attention and feed-forward may be normed before they are added. A layer of another order overrides run():
//
//   class Parallel final : public DecoderLayer {       // attention and feed-forward of the same input
//    public:
//     Parallel(ParameterMaker& make, const Mine& model, std::int64_t index) {
//       input_layernorm_ = make.child<RmsNorm>(*this, "norm", model.hidden_size, model.rms_norm_eps);
//       self_attn_ = model.make_attention(make, *this, index);
//       mlp_ = model.make_feed_forward(make, *this, index);
//     }
//     Residual run(const Residual& hidden, const LayerContext& context, bool recompute) const override {
//       const auto [x, sum] = add_and_norm(hidden, *input_layernorm_);
//       return {sum, at::add(attended(x, context), fed(x, context, recompute))};
//     }
//   };

#include <functional>

#include "runtime/nn/attention/attention.hpp"
#include "runtime/nn/block/feed_forward.hpp"
#include "runtime/nn/model/unit_hook.hpp"

namespace d9d {

// A hidden state [B, S, H]: residual + delta, or residual alone where delta is undefined.
struct Residual {
  at::Tensor residual;
  at::Tensor delta;
  // ExpertBlock::take_router_sums() of the layers so far, added up; undefined when no loss needs them.
  at::Tensor router_sums = {};

  at::Tensor sum() const;
};

struct CachedPass;

// The inputs that all layers of a forward share.
struct LayerContext {
  at::Tensor cos, sin;                // see RotaryTable
  at::Tensor window_cos, window_sin;  // for layers with window_rope; undefined in models without it
  at::Tensor document_starts = {};    // see AttentionRule
  at::Tensor token_mask = {};         // of this rank's tokens, see FeedForward
  // In generation: the pass, and the layer's cache. Otherwise null.
  const CachedPass* pass = nullptr;
  BlockCache* cache = nullptr;
};

class DecoderLayer : public torch::nn::Module {
 public:
  // run(), with the hooks of the layer's unit (FSDP) and the sums of its router. Called by models.
  Residual forward(const Residual& hidden, const LayerContext& context, bool recompute) const;

  bool has_blocks() const { return self_attn_ != nullptr && mlp_ != nullptr; }
  Attention& attention() const { return *self_attn_; }
  FeedForward& feed_forward() const { return *mlp_; }

  Unit unit;

  std::unique_ptr<BlockCache> make_cache(const CacheSize& size) const { return self_attn_->make_cache(size); }

 protected:
  // The layer's arithmetic: the hidden state [B, S, H] after it, of this rank's tokens. It has to be deterministic, to
  // compute each token from the rows of that token alone but in attention, and to call attention and feed-forward once.
  virtual Residual run(const Residual& hidden, const LayerContext& context, bool recompute) const;
  // The two blocks of x [B, S, H] -> [B, S, H].
  at::Tensor attended(const at::Tensor& x, const LayerContext& context) const;
  at::Tensor fed(const at::Tensor& x, const LayerContext& context, bool recompute) const;
  // What attention reads, and the hidden state.
  std::pair<at::Tensor, at::Tensor> entering_attention(const Residual& hidden) const;

  // A family's constructor must make the blocks in this order, which becomes the order of the flat buffers. Attention
  // and feed-forward must be there; a run() of its own may do without the norms.
  std::shared_ptr<RmsNorm> input_layernorm_;  // null where the hidden state is normed already
  std::shared_ptr<Attention> self_attn_;
  std::shared_ptr<RmsNorm> attended_norm_;  // of the attention's output; null in most families
  std::shared_ptr<RmsNorm> post_attention_layernorm_;
  std::shared_ptr<FeedForward> mlp_;
  std::shared_ptr<RmsNorm> fed_norm_;  // of the feed-forward block's output; null in most families
  bool window_rope_ = false;           // the layer uses ModelDescription::window_rope
};

// Builds decoder layer `index` as a child of `layers`, named by its index.
using MakeLayer = std::function<std::shared_ptr<DecoderLayer>(ParameterMaker& make, torch::nn::Module& layers,
                                                              std::int64_t index)>;

// Adds up the hidden state and norms it. Returns (normed, sum).
std::pair<at::Tensor, at::Tensor> add_and_norm(const Residual& hidden, const RmsNorm& norm);

}  // namespace d9d
