#include <nlohmann/json.hpp>

#include "runtime/family/deepseek_v3/config.hpp"
#include "runtime/family/family.hpp"

namespace d9d {
namespace {

class DeepseekV3Family final : public FamilyOf<DeepseekV3Config> {
 public:
  using FamilyOf::FamilyOf;
  std::vector<std::string> required_keys(const nlohmann::json& /*keys*/) const override {
    return {"hidden_size",        "intermediate_size", "num_hidden_layers", "num_attention_heads",
            "vocab_size",         "kv_lora_rank",      "qk_nope_head_dim",  "qk_rope_head_dim",
            "v_head_dim",         "n_routed_experts",  "n_shared_experts",  "moe_intermediate_size",
            "num_experts_per_tok"};
  }
  // Of a job's own model: plain queries, one group.
  void add_defaults(nlohmann::json& keys) const override {
    keys["q_lora_rank"] = nullptr;
    keys["n_group"] = 1;
    keys["topk_group"] = 1;
  }
};

}  // namespace

const Family* deepseek_v3_family() {
  static const DeepseekV3Family family(
      "deepseek_v3",
      "DeepSeek-V3 and models of its kind, with latent attention, grouped experts with a selection bias "
      "and shared experts, for causal language modelling.");
  return &family;
}

}  // namespace d9d
