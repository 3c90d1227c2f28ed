#pragma once
// A Qwen3 causal language model, dense or mixture of experts: options with the names Hugging Face gives them.
// Defaults are those of transformers 5.23 (Qwen3Config, Qwen3MoeConfig) where the two agree. No torch.

#include "runtime/family/family_model.hpp"

namespace d9d {

enum class Qwen3Kind { dense, moe };

struct Qwen3Config final : FamilyModel {
  Qwen3Config() { vocab_size = 151936, max_position_embeddings = 32768; }

  Qwen3Kind kind = Qwen3Kind::dense;
  std::int64_t intermediate_size = 0;  // of dense layers
  std::int64_t num_attention_heads = 0;
  std::int64_t num_key_value_heads = 0;
  std::int64_t head_dim = 128;
  bool attention_bias = false;  // biases on q, k, v and o projections
  // Mixture of experts only. A layer is sparse unless it is listed in mlp_only_layers or
  // (index + 1) % decoder_sparse_step != 0.
  std::int64_t moe_intermediate_size = 768;
  std::int64_t num_experts = 128;
  std::int64_t num_experts_per_tok = 8;
  bool norm_topk_prob = false;  // divide the chosen probabilities by their sum
  std::int64_t decoder_sparse_step = 1;
  std::vector<std::int64_t> mlp_only_layers;
  double router_aux_loss_coef = 0;  // weight of the load balancing loss; 0: the loss is without it
  double router_z_loss_coef = 0;    // weight of the routers' z-loss

  bool is_sparse_layer(std::int64_t layer_index) const;
  MoeOptions moe() const;

  AttentionOptions attention() const override;
  std::int64_t experts_per_layer() const override { return kind == Qwen3Kind::moe ? num_experts : 0; }
  BalanceOptions balance() const override;
  BlockCosts layer(std::int64_t index, int ranks = 1) const override;
  void require_tensor_parallel(int ranks) const override;
  std::unique_ptr<StageModule> build_stage(StagePosition position,
                                           const BuildOptions& options) const override;
  std::string config_json() const override;
  std::shared_ptr<const StateMapper> from_hugging_face(const std::set<std::string>& stored) const override;
  std::shared_ptr<const StateMapper> to_hugging_face() const override;
  std::vector<FolderForm> folder_forms() const override;

  bool operator==(const Qwen3Config&) const = default;
};

class JsonReader;
Qwen3Config read_qwen3_config(const JsonReader& in, Qwen3Kind kind);
// An input error that names the first impossible value; `where` leads the text (a file, a key path).
void validate(const Qwen3Config& config, const std::string& where = "model");

}  // namespace d9d
