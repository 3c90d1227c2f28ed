#include "runtime/family/mistral/family.hpp"

#include "runtime/family/causal_lm_section.hpp"
#include "runtime/family/family_of.hpp"
#include "runtime/family/json_reader.hpp"
#include "runtime/family/mistral/config.hpp"

namespace d9d {
namespace {

class MistralFamily final : public FamilyOf<CausalLmSection> {
 public:
  std::string_view name() const override { return "mistral"; }
  std::string_view meaning() const override {
    return "Mistral, with a sliding window or without, for causal language modelling.";
  }
  std::vector<std::string_view> multimodal_types() const override { return {"mistral3"}; }
  std::vector<std::string> required_keys(const nlohmann::json& /*keys*/) const override {
    return {"hidden_size",         "num_hidden_layers", "num_attention_heads",
            "num_key_value_heads", "vocab_size",        "intermediate_size"};
  }
  // In a job file a window that is not given is none.
  void add_defaults(nlohmann::json& keys) const override { keys["sliding_window"] = nullptr; }
  std::shared_ptr<FamilyModel> read(const JsonReader& in) const override {
    return std::make_shared<MistralConfig>(read_mistral_config(in));
  }
};

}  // namespace

const Family* mistral_family() {
  static const MistralFamily family;
  return &family;
}

}  // namespace d9d
