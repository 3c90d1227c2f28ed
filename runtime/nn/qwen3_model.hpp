#pragma once
// One pipeline stage of a Qwen3 causal language model, dense or mixture of experts.
//
// Parameters have the names Hugging Face gives them; the experts of a layer are stacked:
//   model.layers.N.mlp.experts.gate_proj.weight [E, I, H], .up_proj.weight [E, I, H], .down_proj.weight [E,
//   H, I].
// First in:  input_ids int64 [B, S].          Between stages: hidden_states [B, S, H].
// Shared:    position_ids int64 [B, S], 0, 1, ... when absent; labels int64 [B, S], shifted, -100 = ignored;
//            logit_positions int64 [N], read without labels only: the sequence positions to give logits for.
// Last out:  with labels cross_entropy fp32 [B, S], else logits [B, S, V] (or [B, N, V]).
// Tied embeddings need embedding and head on one stage: with several stages the constructor refuses them.

#include <map>

#include "runtime/nn/block/rotary.hpp"
#include "runtime/nn/decoder_layer.hpp"
#include "runtime/nn/parallel/vocabulary.hpp"
#include "runtime/nn/qwen3_stage.hpp"

namespace d9d {

class Qwen3Model final : public torch::nn::Module, public StageModule {
 public:
  Qwen3Model(const Qwen3Config& config, StagePosition position, const Qwen3Options& options);

  TensorMap forward(const TensorMap& inputs, const TensorMap& shared) override;
  std::vector<StageParameter> parameters() override { return parameters_; }
  void set_training(bool training) override { train(training); }

  const Qwen3Config& config() const { return config_; }
  // Where the stage's parameters are used, in forward order: embedding, layers, head.
  std::vector<UnitUse> unit_uses();

  // By global index, this stage's only.
  const std::map<std::int64_t, std::shared_ptr<DecoderLayer>>& layers() const { return layers_; }
  // Of this stage's embedding and head, [V, H]; one where they are tied.
  std::vector<at::Tensor> vocabulary_weights() const;
  // From now on hidden states between blocks and stages are this rank's tokens, [B, S / ranks, H], and
  // embedding and head hold its rows of the vocabulary. Inputs and outputs stay those of all tokens.
  void share_tokens(ActivationShards tokens, std::shared_ptr<const VocabularyShards> vocabulary);

 private:
  void build(ParameterMaker& make);
  at::Tensor embed(const TensorMap& inputs) const;
  Residual run_layers(at::Tensor hidden, const LayerContext& context) const;
  TensorMap head(const Residual& hidden, const TensorMap& shared) const;
  at::Tensor positions(const TensorMap& shared, const at::Tensor& hidden) const;
  at::Tensor logits(at::Tensor normed, const TensorMap& shared) const;
  const at::Tensor& head_weight() const;

  Qwen3Config config_;
  StagePosition position_;
  Qwen3Options options_;
  RotaryTable rotary_;
  std::shared_ptr<TokenEmbedding> embed_tokens_;  // first stage
  std::map<std::int64_t, std::shared_ptr<DecoderLayer>> layers_;
  std::shared_ptr<RmsNorm> norm_;    // last stage
  std::shared_ptr<Linear> lm_head_;  // last stage, untied
  Unit embedding_unit_;
  Unit head_unit_;  // norm and head
  std::vector<StageParameter> parameters_;
  ActivationShards tokens_;
  std::shared_ptr<const VocabularyShards> vocabulary_;
};

}  // namespace d9d
