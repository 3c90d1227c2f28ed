#include "runtime/family/llama/family.hpp"

#include "runtime/family/causal_lm_section.hpp"
#include "runtime/family/family_of.hpp"
#include "runtime/family/json_reader.hpp"
#include "runtime/family/llama/config.hpp"

namespace d9d {
namespace {

struct LlamaSection : CausalLmSection {
  std::optional<nlohmann::json> mlp_bias;
  std::optional<nlohmann::json> pretraining_tp;
};
BOOST_DESCRIBE_STRUCT(LlamaSection, (CausalLmSection), (mlp_bias, pretraining_tp))
constexpr auto keys_of(config::Tag<LlamaSection>) {
  return config::join(keys_of(config::Tag<CausalLmSection>{}),
                      std::array{config::Key{"mlp_bias", "", "only false"},
                                 config::Key{"pretraining_tp", "", "a key of config.json", config::optional,
                                             config::any_number(), "it is only a note"}});
}

class LlamaFamily final : public FamilyOf<LlamaSection> {
 public:
  std::string_view name() const override { return "llama"; }
  std::string_view meaning() const override { return "Llama, for causal language modelling."; }
  std::vector<std::string_view> multimodal_types() const override {
    return {"llava", "llava_next", "vipllava", "video_llava"};
  }
  std::vector<std::string> required_keys(const nlohmann::json& /*keys*/) const override {
    return {"hidden_size",         "num_hidden_layers", "num_attention_heads",
            "num_key_value_heads", "vocab_size",        "intermediate_size"};
  }
  std::shared_ptr<FamilyModel> read(const JsonReader& in) const override {
    return std::make_shared<LlamaConfig>(read_llama_config(in));
  }
};

}  // namespace

const Family* llama_family() {
  static const LlamaFamily family;
  return &family;
}

}  // namespace d9d
