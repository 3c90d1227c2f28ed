#include <nlohmann/json.hpp>

#include "runtime/family/family.hpp"
#include "runtime/family/qwen3_next/config.hpp"

namespace d9d {
namespace {

class Qwen3NextFamily final : public FamilyOf<Qwen3NextConfig> {
 public:
  using FamilyOf::FamilyOf;
  std::vector<std::string> required_keys(const nlohmann::json& /*keys*/) const override {
    return {"hidden_size",           "num_hidden_layers",   "num_attention_heads",
            "num_key_value_heads",   "vocab_size",          "num_experts",
            "moe_intermediate_size", "num_experts_per_tok", "shared_expert_intermediate_size"};
  }
  // The layers that a folder lists are of its own number of layers.
  void drop_replaced(nlohmann::json& base, const nlohmann::json& keys) const override {
    if (keys.contains("full_attention_interval") && !keys.contains("layer_types")) base.erase("layer_types");
  }
};

}  // namespace

const Family* qwen3_next_family() {
  static const Qwen3NextFamily family(
      "qwen3_next", "Qwen3-Next, with gated delta nets and experts, for causal language modelling.");
  return &family;
}

}  // namespace d9d
