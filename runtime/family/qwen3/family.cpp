#include "runtime/family/family.hpp"
#include "runtime/family/expert_keys.hpp"
#include "runtime/family/original_keys.hpp"
#include "runtime/family/qwen3/config.hpp"

namespace d9d {
namespace {

using nlohmann::json;

const std::vector<std::string> size_keys{"hidden_size",         "num_hidden_layers", "num_attention_heads",
                                         "num_key_value_heads", "head_dim",          "vocab_size"};

class DenseFamily final : public Family {
 public:
  using Family::Family;
  void to_config_keys(json& keys, const std::string& where) const override { flatten_layer(keys, where); }
  std::vector<std::string> required_keys(const json& /*keys*/) const override {
    std::vector<std::string> names = size_keys;
    names.emplace_back("intermediate_size");
    return names;
  }
  std::shared_ptr<FamilyModel> blank() const override {
    return std::make_shared<Qwen3Config>(Qwen3Kind::dense);
  }
};

class MoeFamily final : public Family {
 public:
  using Family::Family;
  void to_config_keys(json& keys, const std::string& where) const override {
    if (keys.contains("layer")) {
      json& layer = keys["layer"];
      rename_key(layer, "intermediate_size", "moe_intermediate_size", where);
      rename_key(layer, "experts_top_k", "num_experts_per_tok", where);
      layer["norm_topk_prob"] = true;  // the original always renormalises
      // No layer is dense, so this size is of none; the other reader wants one.
      layer["intermediate_size"] = layer["moe_intermediate_size"];
    }
    flatten_layer(keys, where);
  }
  std::vector<std::string> required_keys(const json& keys) const override {
    std::vector<std::string> names = size_keys;
    if (!keys.contains("num_local_experts")) names.emplace_back("num_experts");
    names.emplace_back("moe_intermediate_size");
    names.emplace_back("num_experts_per_tok");
    return names;
  }
  void drop_replaced(json& base, const json& keys) const override { drop_other_name_of_experts(base, keys); }
  std::shared_ptr<FamilyModel> blank() const override {
    return std::make_shared<Qwen3Config>(Qwen3Kind::moe);
  }
};

}  // namespace

const Family* qwen3_moe_family() {
  static const MoeFamily family("qwen3_moe",
                                "Qwen3 with a mixture of experts, for causal language modelling.");
  return &family;
}

const Family* qwen3_family() {
  static const DenseFamily family("qwen3", "Qwen3 with dense layers, for causal language modelling.");
  return &family;
}

}  // namespace d9d
