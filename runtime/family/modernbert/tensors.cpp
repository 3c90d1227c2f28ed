// The tensors of a folder of ModernBERT: projections of one input are one matrix there.
#include <fmt/format.h>

#include "runtime/family/folder/folder_names.hpp"
#include "runtime/family/modernbert/config.hpp"
#include "runtime/state/mapper/compose.hpp"
#include "runtime/state/mapper/concatenate.hpp"
#include "runtime/state/mapper/rename.hpp"

namespace d9d {
namespace {

struct Renamed {
  std::string folder, parameter;
};

// The rows of a matrix of the folder, or numbers of its bias.
struct ModernBertJoint {
  std::string folder;
  std::vector<NamedSize> parts;
};

struct ModernBertTensors {
  std::vector<Renamed> renamed;
  std::vector<ModernBertJoint> joint;
};

void add_modernbert_layer(const ModernBertConfig& model, std::int64_t index, ModernBertTensors& tensors) {
  const std::string layer = fmt::format("model.layers.{}.", index);
  const auto rename_both = [&](const char* folder, const char* parameter, bool has_bias) {
    tensors.renamed.push_back(
        {layer + folder + std::string(".weight"), layer + parameter + std::string(".weight")});
    if (has_bias)
      tensors.renamed.push_back(
          {layer + folder + std::string(".bias"), layer + parameter + std::string(".bias")});
  };
  const auto join = [&](const std::string& folder, const std::vector<std::string>& parts, std::int64_t rows,
                        bool has_bias) {
    for (const char* ending : {".weight", ".bias"}) {
      if (ending == std::string_view(".bias") && !has_bias) continue;
      ModernBertJoint& one = tensors.joint.emplace_back(ModernBertJoint{layer + folder + ending, {}});
      for (const std::string& part : parts) one.parts.push_back({layer + part + ending, rows});
    }
  };
  if (index > 0) rename_both("attn_norm", "input_layernorm", false);
  join("attn.Wqkv", {"self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"}, model.hidden_size,
       model.attention_bias);
  rename_both("attn.Wo", "self_attn.o_proj", model.attention_bias);
  rename_both("mlp_norm", "post_attention_layernorm", false);
  join("mlp.Wi", {"mlp.gate_proj", "mlp.up_proj"}, model.intermediate_size, model.mlp_bias);
  rename_both("mlp.Wo", "mlp.down_proj", model.mlp_bias);
}

// `read`: of a folder as folder/folder_names.hpp spells it, whose vocabulary has the names of other families already.
ModernBertTensors modernbert_tensors(const ModernBertConfig& model, bool read) {
  ModernBertTensors tensors;
  const auto add = [&](const char* folder, const char* parameter) {
    tensors.renamed.push_back({folder, parameter});
  };
  const auto add_vocabulary = [&](const char* folder, const char* parameter) {
    add(read ? parameter : folder, parameter);
  };
  add_vocabulary("model.embeddings.tok_embeddings.weight", embedding_table);
  add("model.embeddings.norm.weight", "model.embed_norm.weight");
  for (std::int64_t layer = 0; layer < model.num_hidden_layers; ++layer)
    add_modernbert_layer(model, layer, tensors);
  add("model.final_norm.weight", "model.norm.weight");
  if (!model.has_language_model_head()) return tensors;
  for (const auto& [name, shape] : parameters_of_transform(model.head_transform, model.hidden_size))
    tensors.renamed.push_back({name, name});
  if (!model.tie_word_embeddings) add_vocabulary("decoder.weight", head_table);
  if (model.logit_bias) add_vocabulary("decoder.bias", "lm_head.bias");
  return tensors;
}

}  // namespace

MapperPtr ModernBertConfig::from_hugging_face(const std::set<std::string>& /*stored*/) const {
  const ModernBertTensors tensors = modernbert_tensors(*this, /*read=*/true);
  std::vector<MapperPtr> mappers;
  for (const auto& [folder, parameter] : tensors.renamed) mappers.push_back(rename(folder, parameter));
  for (const auto& [folder, parts] : tensors.joint) mappers.push_back(cut(folder, parts, 0));
  return parallel(std::move(mappers));
}

MapperPtr ModernBertConfig::to_hugging_face() const {
  const ModernBertTensors tensors = modernbert_tensors(*this, /*read=*/false);
  std::vector<MapperPtr> mappers;
  for (const auto& [folder, parameter] : tensors.renamed) mappers.push_back(rename(parameter, folder));
  for (const auto& [folder, parts] : tensors.joint) {
    std::vector<std::string> names;
    for (const NamedSize& part : parts) names.push_back(part.name);
    mappers.push_back(concatenate(std::move(names), folder, 0));
  }
  return parallel(std::move(mappers));
}

// The heads of a folder that this model does not have: it may have been trained for other ends.
std::vector<std::string> ModernBertConfig::unread_tensors(const std::set<std::string>& stored) const {
  std::vector<std::string> patterns = DenseDecoder::unread_tensors(stored);
  const auto has = [&](const char* parameter) {
    const std::vector<std::string> own = own_head_parameters();
    return std::find(own.begin(), own.end(), parameter) != own.end();
  };
  if (!has("score.weight")) patterns.emplace_back("score.*");
  if (!has_language_model_head()) patterns.emplace_back("lm_head.*");
  if (!has_language_model_head() && !has("score.weight")) patterns.emplace_back("head.*");
  return patterns;
}

std::string ModernBertConfig::head_in_folder(const std::string& parameter) const {
  constexpr std::string_view score = "score.";
  if (!parameter.starts_with(score)) return parameter;
  return "classifier." + parameter.substr(score.size());
}

}  // namespace d9d
