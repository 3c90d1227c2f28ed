#include <nlohmann/json.hpp>

#include "runtime/base/error.hpp"
#include "runtime/family/common_config.hpp"
#include "runtime/family/hugging_face_rope.hpp"
#include "runtime/family/json_reader.hpp"
#include "runtime/family/qwen3/config.hpp"

namespace d9d {
namespace {

using nlohmann::json;

// Of the mixture of experts, all layers have the window where it is in use: that model has no layer_types.
LayerWindows read_windows(const JsonReader& in, const Qwen3Config& config) {
  if (config.kind == Qwen3Kind::moe) {
    if (!in.flag("use_sliding_window", false)) return {};
    return read_one_window(in, config.num_hidden_layers, 4096);
  }
  const std::int64_t full_layers = in.integer("max_window_layers", 28);
  return read_layer_windows(in, config.num_hidden_layers,
                            [=](std::int64_t layer) { return layer >= full_layers; });
}

void read_experts(const JsonReader& in, Qwen3Config& config) {
  config.moe_intermediate_size = in.integer("moe_intermediate_size", 768);
  const bool both = in.find("num_experts") != nullptr && in.find("num_local_experts") != nullptr;
  config.num_experts = in.integer("num_experts", in.integer("num_local_experts", 128));
  D9D_REQUIRE(!both || config.num_experts == in.integer("num_local_experts", 0),
              "{}: num_experts is {} and num_local_experts {}; they mean the same, keep one", in.where(),
              config.num_experts, in.integer("num_local_experts", 0));
  config.num_experts_per_tok = in.integer("num_experts_per_tok", 8);
  config.norm_topk_prob = in.flag("norm_topk_prob", false);
  const double balance = in.number("router_aux_loss_coef", 0.001);
  D9D_REQUIRE(balance >= 0.0, "{}: router_aux_loss_coef is {}, expected 0 or more", in.where(), balance);
  config.router_aux_loss_coef = in.flag("output_router_logits", false) ? balance : 0.0;
  config.router_z_loss_coef = in.number("router_z_loss_coef", 0.0);
  D9D_REQUIRE(config.router_z_loss_coef >= 0.0, "{}: router_z_loss_coef is {}, expected 0 or more",
              in.where(), config.router_z_loss_coef);
  config.decoder_sparse_step = in.integer("decoder_sparse_step", 1);
  config.mlp_only_layers = in.integers("mlp_only_layers");
}

Qwen3Config read_sizes(const JsonReader& in, Qwen3Kind kind) {
  Qwen3Config config;
  config.kind = kind;
  const bool moe = kind == Qwen3Kind::moe;
  config.vocab_size = in.integer("vocab_size", 151936);
  config.hidden_size = in.integer("hidden_size", moe ? 2048 : 4096);
  config.intermediate_size = in.integer("intermediate_size", moe ? 6144 : 22016);
  config.num_hidden_layers = in.integer("num_hidden_layers", moe ? 24 : 32);
  config.num_attention_heads = in.integer("num_attention_heads", 32);
  config.num_key_value_heads = in.find("num_key_value_heads") == nullptr && in.has("num_key_value_heads")
                                   ? config.num_attention_heads
                                   : in.integer("num_key_value_heads", moe ? 4 : 32);
  D9D_REQUIRE(config.num_attention_heads > 0, "{}: num_attention_heads is {}, expected an integer above 0",
              in.where(), config.num_attention_heads);
  const std::int64_t even_share = config.hidden_size / config.num_attention_heads;
  config.head_dim = in.integer("head_dim", moe || in.has("head_dim") ? even_share : 128);
  config.max_position_embeddings = in.integer("max_position_embeddings", 32768);
  return config;
}

const char* architecture_of(Qwen3Kind kind) {
  return kind == Qwen3Kind::moe ? "Qwen3MoeForCausalLM" : "Qwen3ForCausalLM";
}

}  // namespace

Qwen3Config read_qwen3_config(const JsonReader& in, Qwen3Kind kind) {
  Qwen3Config config = read_sizes(in, kind);
  refuse_other_models(in, architecture_of(kind));
  read_common(in, config);
  config.attention_bias = in.flag("attention_bias", false);
  config.rope = read_rope(in, config.max_position_embeddings);
  if (kind == Qwen3Kind::moe) read_experts(in, config);
  config.windows = read_windows(in, config);
  validate(config, in.where());
  return config;
}

std::string Qwen3Config::config_json() const {
  const bool moe = kind == Qwen3Kind::moe;
  json out = common_config_json(*this, moe ? "qwen3_moe" : "qwen3", architecture_of(kind));
  out["intermediate_size"] = intermediate_size;
  out["attention_bias"] = attention_bias;
  if (moe) {
    write_one_window(windows, out);
    out["use_sliding_window"] = windows.any();
  } else {
    write_layer_windows(windows, num_hidden_layers, out);
  }
  write_rope(rope, out);
  if (moe) {
    out["moe_intermediate_size"] = moe_intermediate_size;
    out["num_experts"] = num_experts;
    out["num_local_experts"] = num_experts;
    out["num_experts_per_tok"] = num_experts_per_tok;
    out["norm_topk_prob"] = norm_topk_prob;
    out["decoder_sparse_step"] = decoder_sparse_step;
    out["mlp_only_layers"] = mlp_only_layers;
    out["output_router_logits"] = router_aux_loss_coef != 0;
    if (router_aux_loss_coef != 0) out["router_aux_loss_coef"] = router_aux_loss_coef;
    if (router_z_loss_coef != 0) out["router_z_loss_coef"] = router_z_loss_coef;
  }
  return out.dump(2) + "\n";
}

}  // namespace d9d
