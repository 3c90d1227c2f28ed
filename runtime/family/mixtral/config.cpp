#include "runtime/family/mixtral/config.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "runtime/base/error.hpp"
#include "runtime/family/common_config.hpp"
#include "runtime/family/hugging_face_rope.hpp"
#include "runtime/family/json_reader.hpp"

namespace d9d {
namespace {

constexpr const char* mixtral_architecture = "MixtralForCausalLM";

MixtralConfig mixtral_defaults() {
  MixtralConfig config;
  config.vocab_size = 32000;
  config.hidden_size = 4096;
  config.intermediate_size = 14336;
  config.num_hidden_layers = 32;
  config.num_attention_heads = 32;
  config.num_key_value_heads = 8;
  config.max_position_embeddings = 131072;
  config.num_experts_per_tok = 2;
  config.norm_topk_prob = true;
  return config;
}

std::int64_t read_mixtral_experts(const JsonReader& in) {
  const std::int64_t experts = in.integer("num_local_experts", in.integer("num_experts", 8));
  D9D_REQUIRE(in.integer("num_experts", experts) == experts,
              "{}: num_experts is {} and num_local_experts {}; they mean the same, keep one", in.where(),
              in.integer("num_experts", experts), experts);
  D9D_REQUIRE(experts > 0, "{}: num_local_experts is {}, expected an integer above 0", in.where(), experts);
  return experts;
}

}  // namespace

MixtralConfig read_mixtral_config(const JsonReader& in) {
  MixtralConfig config = mixtral_defaults();
  read_sizes(in, config);
  refuse_other_models(in, mixtral_architecture);
  read_common(in, config);
  config.rms_norm_eps = in.number("rms_norm_eps", 1e-5);
  if (!in.has("bos_token_id")) config.bos_token_id = 1;
  if (!in.has("eos_token_id")) config.eos_token_ids = {2};
  config.rope = read_rope(in, config.max_position_embeddings, /*absent_theta=*/1e6);
  config.windows = read_one_window(in, config.num_hidden_layers, 0);
  config.num_experts = read_mixtral_experts(in);
  config.moe_intermediate_size = config.intermediate_size;
  read_router(in, config);
  const double jitter = in.number("router_jitter_noise", 0.0);
  D9D_REQUIRE(jitter == 0.0, "{}: router_jitter_noise is {}, noise is not supported; set it to 0.0",
              in.where(), jitter);
  D9D_REQUIRE(!in.flag("attention_bias", false),
              "{}: attention_bias is true, but this family has no biases; remove the key", in.where());
  validate(config, in.where());
  return config;
}

std::string MixtralConfig::config_json() const {
  nlohmann::json out = common_config_json(*this, "mixtral", mixtral_architecture);
  out["intermediate_size"] = moe_intermediate_size;
  out["num_local_experts"] = num_experts;
  write_one_window(windows, out);
  write_router(*this, out);
  write_rope(rope, out);
  return out.dump(2) + "\n";
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
