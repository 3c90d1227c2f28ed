#include <nlohmann/json.hpp>

#include "runtime/family/family.hpp"
#include "runtime/family/modernbert/config.hpp"

namespace d9d {
namespace {

class ModernBertFamily final : public FamilyOf<ModernBertConfig> {
 public:
  using FamilyOf::FamilyOf;
  std::vector<std::string> required_keys(const nlohmann::json& /*keys*/) const override {
    return {"hidden_size", "num_hidden_layers", "num_attention_heads", "vocab_size", "intermediate_size"};
  }
  // The layers that a folder lists are of its own number of layers. Its thetas are at the top (flatten_rope).
  void drop_replaced(nlohmann::json& base, const nlohmann::json& keys) const override {
    if (keys.contains("global_attn_every_n_layers") && !keys.contains("layer_types"))
      base.erase("layer_types");
    if (keys.contains("global_rope_theta")) base.erase("rope_theta");
    if (keys.contains("local_rope_theta")) base.erase("rope_local_base_freq");
  }
};

}  // namespace

const Family* modernbert_family() {
  static const ModernBertFamily family(
      "modernbert", "ModernBERT, an encoder: for words that are left out (masked_lm), classes and vectors.");
  return &family;
}

}  // namespace d9d
