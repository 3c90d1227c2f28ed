#include "runtime/family/qwen2_moe/family.hpp"

#include "runtime/family/family.hpp"
#include "runtime/family/qwen2_moe/config.hpp"

namespace d9d {
namespace {

class Qwen2MoeFamily final : public Family {
 public:
  std::string_view name() const override { return "qwen2_moe"; }
  std::string_view meaning() const override {
    return "Qwen2-MoE, with routed experts and a gated shared expert, for causal language modelling.";
  }
  std::vector<std::string> required_keys(const nlohmann::json& /*keys*/) const override {
    return {"hidden_size",           "num_hidden_layers",   "num_attention_heads",
            "num_key_value_heads",   "vocab_size",          "num_experts",
            "moe_intermediate_size", "num_experts_per_tok", "shared_expert_intermediate_size"};
  }
  std::shared_ptr<FamilyModel> blank() const override { return std::make_shared<Qwen2MoeConfig>(); }
};

}  // namespace

const Family* qwen2_moe_family() {
  static const Qwen2MoeFamily family;
  return &family;
}

}  // namespace d9d
