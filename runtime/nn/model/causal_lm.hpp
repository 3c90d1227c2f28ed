#pragma once
// One pipeline stage of a language model whose decoder layers a family builds. Tokens see those before them, and in
// a model that is not causal those after them, but no token that fills a row up.
//
// Parameters have the names Hugging Face gives them (model.embed_tokens, model.layers.N, model.norm,
// lm_head); the experts of a layer are stacked:
//   model.layers.N.mlp.experts.gate_proj.weight [E, I, H], up_proj likewise, down_proj [E, H, I]
// and a vocabulary in parts has a table for each: model.embed_tokens.PART.weight, lm_head.PART.weight.
// First in:  input_ids int64 [B, S].          Between stages: hidden_states [B, S, H];
//            in training with a balance loss, router_sums [3, E].
// Shared:    position_ids int64 [B, S] (0, 1, ... when absent); what the head reads (block/head.hpp);
//            document_starts, token_mask; sequence_length int64 [] where ranks share sequences and the RoPE
//            depends on their length. hidden_states_snapshot is also between stages (hidden_states.hpp).
// In training the last stage gives, beside what the head gives, the losses of the tokens alone where its loss has more
// in it: depth_losses fp32 [D + 1, 2] (multi_token_prediction.hpp; D = 0 for a balance loss alone).
// The last stage has a copy of the embedding for a tied head or to predict further tokens (tensor/tied.hpp).

#include "runtime/nn/attention/rotary.hpp"
#include "runtime/nn/block/embedding.hpp"
#include "runtime/nn/block/head.hpp"
#include "runtime/nn/model/activation_offload.hpp"
#include "runtime/nn/model/build_options.hpp"
#include "runtime/nn/model/hidden_states.hpp"
#include "runtime/nn/model/layer_caches.hpp"
#include "runtime/nn/model/multi_token_prediction.hpp"
#include "runtime/nn/model/router_balance.hpp"
#include "runtime/tensor/routed_stage.hpp"

namespace d9d {

class CausalLm final : public torch::nn::Module,
                       public StageModule,
                       public RoutedStage,
                       public GeneratingStage {
 public:
  CausalLm(const ModelDescription& model, const RopeOptions& rope, StagePosition position,
           const BuildOptions& options, const MakeLayer& make_layer);

  TensorMap forward(const TensorMap& inputs, const TensorMap& shared) override;
  std::unique_ptr<StageCache> make_cache(const CacheSize& size) const override;
  TensorMap extend(const TensorMap& inputs, const TensorMap& shared, StageCache& cache,
                   const NewTokens& tokens) override;
  std::vector<StageParameter> parameters() override { return parameters_; }
  void set_parameters(std::vector<StageParameter> changed) override { parameters_ = std::move(changed); }
  void set_training(bool training) override { train(training); }
  std::vector<StageBuffer> buffers() override { return buffers_; }

  std::vector<RoutedTokens> routed_tokens() const override;
  bool balances_load() const override;
  void balance(const std::vector<RoutedTokens>& of_all_ranks) override;
  void end_step() override;

  std::vector<UnitUse> unit_uses();  // where parameters are used, in forward order: embedding, layers, head
  // The layers of this stage by their index in the model, with those of multi-token prediction.
  const std::map<std::int64_t, std::shared_ptr<DecoderLayer>>& layers() const { return layers_; }
  bool has_experts() const { return has_experts_; }  // some layer of the model, on whatever stage
  bool has_balance_loss() const { return balance_.wanted(); }
  bool summarises_hidden_states() const { return summary_ != HiddenStateSummary::no; }
  // Makes ranks share sequences, each with some of the tokens. `group`: null unless has_balance_loss().
  void share_sequences(SharedCommunicator group);
  // Makes all blocks tensor-parallel. Afterwards hidden states between blocks and stages hold this rank's
  // tokens, [B, S / ranks, H]. The model's inputs and outputs still cover all tokens.
  void shard(TensorParallel& tensor);

 private:
  using Layer = std::shared_ptr<DecoderLayer>;
  void build(const ModelDescription& model, ParameterMaker& make, const MakeLayer& make_layer);
  std::unique_ptr<Head> make_heads(const ModelDescription& model, ParameterMaker& make);
  std::unique_ptr<Head> make_language_head(const ModelDescription& model, ParameterMaker& make);
  at::Tensor embed(const at::Tensor& ids, const Unit& unit) const;
  Residual run_layer(const Layer& layer, const Residual& state, const LayerContext& context) const;
  TensorMap run(const TensorMap& inputs, const TensorMap& shared, const CachedPass* pass);
  Residual run_layers(Residual state, LayerContext context, HiddenStateAggregator& summary) const;
  Residual run_checkpointed(const Layer& layer, const Residual& state, const LayerContext& context) const;
  at::Tensor router_sums(const TensorMap& inputs, const at::Tensor& hidden) const;
  void add_balance_loss(TensorMap& outputs, const Residual& state, const TensorMap& shared) const;
  TensorMap head(const Residual& hidden, const TensorMap& shared, const LayerContext& context) const;
  LayerContext angles(const TensorMap& shared, const at::Tensor& hidden);
  at::Tensor positions(const TensorMap& shared, const at::Tensor& hidden) const;
  at::Tensor snapshot(const TensorMap& inputs, at::Tensor& hidden) const;

  StagePosition position_;
  BuildOptions options_;
  std::int64_t hidden_size_, num_hidden_layers_;
  std::vector<VocabularyPart> vocabulary_;  // at least one part
  std::vector<RotaryTable> rotary_;         // one, and a second one if the model has a window_rope
  double embedding_scale_;                  // in the model's dtype
  HiddenStateSummary summary_;
  RouterBalance balance_;
  bool has_experts_, causal_, shares_sequences_ = false;
  std::shared_ptr<Embedding> embed_tokens_;  // first stage, and the last one where it needs a copy
  std::map<std::int64_t, std::shared_ptr<DecoderLayer>> layers_;
  std::shared_ptr<RmsNorm> embed_norm_;               // first stage, where the model has it
  std::shared_ptr<RmsNorm> norm_;                     // last stage
  std::unique_ptr<Head> head_;                        // last stage
  std::unique_ptr<MultiTokenPrediction> prediction_;  // last stage; null without
  std::unique_ptr<ActivationOffload> offload_;        // null: everything stays on the device
  Unit embedding_unit_, head_unit_;                   // the second: norm and head
  std::vector<StageParameter> parameters_;
  std::vector<StageBuffer> buffers_;
  ActivationShards tokens_;
};

}  // namespace d9d
