#include "runtime/family/mixtral/family.hpp"

#include "runtime/family/family.hpp"
#include "runtime/family/mixtral/config.hpp"

namespace d9d {
namespace {

class MixtralFamily final : public Family {
 public:
  std::string_view name() const override { return "mixtral"; }
  std::string_view meaning() const override {
    return "Mixtral, with experts in every layer, for causal language modelling.";
  }
  std::vector<std::string> required_keys(const nlohmann::json& keys) const override {
    return {"hidden_size",         "num_hidden_layers",
            "num_attention_heads", "num_key_value_heads",
            "vocab_size",          "intermediate_size",
            "num_experts_per_tok", keys.contains("num_experts") ? "num_experts" : "num_local_experts"};
  }
  void drop_replaced(nlohmann::json& base, const nlohmann::json& keys) const override {
    if (keys.contains("num_experts")) base.erase("num_local_experts");
    if (keys.contains("num_local_experts")) base.erase("num_experts");
  }
  std::shared_ptr<FamilyModel> blank() const override { return std::make_shared<MixtralConfig>(); }
};

}  // namespace

const Family* mixtral_family() {
  static const MixtralFamily family;
  return &family;
}

}  // namespace d9d
