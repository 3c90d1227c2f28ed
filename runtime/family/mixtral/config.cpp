#include "runtime/family/mixtral/config.hpp"

#include <algorithm>

#include "runtime/base/error.hpp"
#include "runtime/family/expert_keys.hpp"

namespace d9d {
namespace {

void refuse_jitter(const JsonReader& in) {
  const double jitter = in.number("router_jitter_noise", 0.0);
  D9D_REQUIRE(jitter == 0.0, "{}: router_jitter_noise is {}, noise is not supported; set it to 0.0",
              in.where(), jitter);
}

ModelKeys mixtral_keys() {
  ModelKeys keys = decoder_keys("mixtral", "MixtralForCausalLM");
  set_one_window(keys, 0);
  never_true(row(keys, "attention_bias"), "but this family has no biases; remove the key");
  append(keys, expert_keys({"num_experts", "num_local_experts", "num_experts_per_tok"}));
  set_local_experts(keys);
  keys.push_back({.key = {"router_jitter_noise", "", "only 0"}, .refuse = refuse_jitter});
  append(keys, expert_keys({"output_router_logits", "router_aux_loss_coef", "router_z_loss_coef"}));
  return keys;
}

}  // namespace

MixtralConfig::MixtralConfig() {
  vocab_size = 32000;
  hidden_size = 4096;
  intermediate_size = 14336;
  num_hidden_layers = 32;
  num_attention_heads = 32;
  num_key_value_heads = 8;
  max_position_embeddings = 131072;
  rms_norm_eps = 1e-5;
  bos_token_id = 1;
  eos_token_ids = {2};
  rope.theta = 1e6;
  num_experts = 8;
  num_experts_per_tok = 2;
  norm_topk_prob = true;
}

const ModelKeys& MixtralConfig::keys() const {
  static const ModelKeys all = mixtral_keys();
  return all;
}

// transformers 5 renames the block to mlp when it reads a folder, and some tools write it so.
SparseDecoder::StoredNames MixtralConfig::names_in(const std::set<std::string>& stored) const {
  StoredNames names = names_of_export();
  const bool renamed = std::any_of(stored.begin(), stored.end(), [](const std::string& name) {
    return name.find(".mlp.experts.") != std::string::npos;
  });
  if (renamed) names.block = "mlp";
  return names;
}

SparseDecoder::StoredNames MixtralConfig::names_of_export() const {
  return {.block = "block_sparse_moe", .gate = "w1", .up = "w3", .down = "w2"};
}

}  // namespace d9d
