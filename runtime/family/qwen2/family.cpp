#include "runtime/family/qwen2/family.hpp"

#include "runtime/family/causal_lm_section.hpp"
#include "runtime/family/family_of.hpp"
#include "runtime/family/json_reader.hpp"
#include "runtime/family/qwen2/config.hpp"

namespace d9d {
namespace {

class Qwen2Family final : public FamilyOf<CausalLmSection> {
 public:
  std::string_view name() const override { return "qwen2"; }
  std::string_view meaning() const override {
    return "Qwen2, with biases on q, k and v, for causal language modelling.";
  }
  std::vector<std::string_view> multimodal_types() const override { return {"llava_onevision", "internvl"}; }
  std::vector<std::string> required_keys(const nlohmann::json& /*keys*/) const override {
    return {"hidden_size",         "num_hidden_layers", "num_attention_heads",
            "num_key_value_heads", "vocab_size",        "intermediate_size"};
  }
  std::shared_ptr<FamilyModel> read(const JsonReader& in) const override {
    return std::make_shared<Qwen2Config>(read_qwen2_config(in));
  }
};

}  // namespace

const Family* qwen2_family() {
  static const Qwen2Family family;
  return &family;
}

}  // namespace d9d
