#include <nlohmann/json.hpp>

#include "runtime/family/family.hpp"
#include "runtime/family/mixtral/config.hpp"

namespace d9d {
namespace {

class MixtralFamily final : public FamilyOf<MixtralConfig> {
 public:
  using FamilyOf::FamilyOf;
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
};

}  // namespace

const Family* mixtral_family() {
  static const MixtralFamily family("mixtral",
                                    "Mixtral, with experts in every layer, for causal language modelling.");
  return &family;
}

}  // namespace d9d
