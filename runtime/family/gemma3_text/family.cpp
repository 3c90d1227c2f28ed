#include <nlohmann/json.hpp>

#include "runtime/family/family.hpp"
#include "runtime/family/gemma3_text/config.hpp"

namespace d9d {
namespace {

class Gemma3TextFamily final : public FamilyOf<Gemma3TextConfig> {
 public:
  using FamilyOf::FamilyOf;
  std::vector<std::string> required_keys(const nlohmann::json& /*keys*/) const override {
    return {"hidden_size",         "num_hidden_layers", "num_attention_heads", "head_dim",
            "num_key_value_heads", "vocab_size",        "intermediate_size"};
  }
  // The layers that a folder lists are of its own number of layers.
  void drop_replaced(nlohmann::json& base, const nlohmann::json& keys) const override {
    if (keys.contains("sliding_window_pattern") && !keys.contains("layer_types")) base.erase("layer_types");
  }
};

}  // namespace

const Family* gemma3_text_family() {
  static const Gemma3TextFamily family(
      "gemma3_text", "Gemma 3, with sliding windows in most layers, for causal language modelling.",
      {"gemma3"});
  return &family;
}

}  // namespace d9d
