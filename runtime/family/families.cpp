#include "runtime/family/families.hpp"

#include <algorithm>

#include "runtime/family/model_key.hpp"

namespace d9d {

// Each is in the file family.cpp of its folder.
const Family* deepseek_v3_family();
const Family* gemma3_text_family();
const Family* gpt_oss_family();
const Family* llama_family();
const Family* mistral_family();
const Family* mixtral_family();
const Family* modernbert_family();
const Family* qwen2_family();
const Family* qwen2_moe_family();
const Family* qwen3_moe_family();
const Family* qwen3_family();
const Family* qwen3_next_family();

const std::vector<const Family*>& families() {
  static const std::vector<const Family*> all{
      qwen3_moe_family(),   qwen3_family(),       llama_family(),   qwen2_family(),
      mistral_family(),     qwen2_moe_family(),   mixtral_family(), qwen3_next_family(),
      deepseek_v3_family(), gemma3_text_family(), gpt_oss_family(), modernbert_family(),
  };
  return all;
}

const Family* find_family(std::string_view name) {
  const auto found = std::find_if(families().begin(), families().end(),
                                  [&](const Family* family) { return family->name() == name; });
  return found == families().end() ? nullptr : *found;
}

std::vector<std::string> Family::required_keys(const nlohmann::json& /*keys*/) const {
  return {"hidden_size",         "num_hidden_layers", "num_attention_heads",
          "num_key_value_heads", "vocab_size",        "intermediate_size"};
}

std::shared_ptr<FamilyModel> Family::read(const JsonReader& in) const {
  auto model = blank();
  read_model(in, *model);
  return model;
}

}  // namespace d9d
