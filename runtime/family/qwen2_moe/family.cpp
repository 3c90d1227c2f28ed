#include "runtime/family/family.hpp"
#include "runtime/family/qwen2_moe/config.hpp"

namespace d9d {
namespace {

class Qwen2MoeFamily final : public FamilyOf<Qwen2MoeConfig> {
 public:
  using FamilyOf::FamilyOf;
  std::vector<std::string> required_keys(const nlohmann::json& /*keys*/) const override {
    return {"hidden_size",           "num_hidden_layers",   "num_attention_heads",
            "num_key_value_heads",   "vocab_size",          "num_experts",
            "moe_intermediate_size", "num_experts_per_tok", "shared_expert_intermediate_size"};
  }
};

}  // namespace

const Family* qwen2_moe_family() {
  static const Qwen2MoeFamily family(
      "qwen2_moe",
      "Qwen2-MoE, with routed experts and a gated shared expert, for causal language modelling.");
  return &family;
}

}  // namespace d9d
