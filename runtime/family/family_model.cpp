#include "runtime/family/family_model.hpp"

#include <algorithm>

#include "runtime/family/folder/folder_names.hpp"
#include "runtime/family/prediction_tensors.hpp"
#include "runtime/nn/model/build_options.hpp"
#include "runtime/nn/plan/causal_lm_plan.hpp"
#include "runtime/state/pattern.hpp"
#include "runtime/tensor/stage_module.hpp"
#include "runtime/tensor/torch_dtype.hpp"

namespace d9d {
std::vector<std::string> FamilyModel::own_head_parameters() const {
  std::vector<std::string> names;
  for (const auto& [name, head] : heads) {
    for (const auto& [parameter, shape] : parameters_of_head(head, hidden_size, head_transform))
      names.push_back(head_scope(name) + parameter);
  }
  return names;
}

bool FamilyModel::may_start_anew(const std::string& name) const {
  for (std::int64_t layer = num_hidden_layers; layer < num_all_layers(); ++layer) {
    if (name.starts_with(prediction_prefix(layer))) return true;
  }
  const std::vector<std::string> own = own_head_parameters();
  return std::find(own.begin(), own.end(), name) != own.end();
}

bool FamilyModel::starts_anew(const Names& in_folder, const std::string& name) const {
  if (!may_start_anew(name)) return false;
  const Names stored = FolderNames(in_folder, tie_word_embeddings).names();
  for (std::int64_t layer = num_hidden_layers; layer < num_all_layers(); ++layer) {
    if (name.starts_with(prediction_prefix(layer))) return !has_prediction_layer(stored, layer);
  }
  return !stored.contains(name);
}

std::vector<StageParameter> FamilyModel::parallelize(StageModule& stage, StageGroups& groups,
                                                     const ParallelOptions& options) const {
  return parallelize_causal_lm(stage, groups, options);
}

std::unique_ptr<StageModule> FamilyModel::build_shapes(Dtype element) const {
  BuildOptions options{.dtype = scalar_type_of(element)};
  options.device = at::Device(at::kMeta);
  return build_stage({}, options);
}

std::vector<FolderForm> FamilyModel::folder_forms() const {
  return {{"hugging_face", "as `d9d-node export` writes it, without copies of tied weights and old buffers",
           to_hugging_face()}};
}

std::vector<std::string> FamilyModel::unread_tensors(const std::set<std::string>& /*stored*/) const {
  std::vector<std::string> patterns = {"model.layers.*.self_attn.rotary_emb.inv_freq",
                                       "model.rotary_emb.inv_freq"};
  if (tie_word_embeddings || !has_language_model_head()) patterns.emplace_back(head_table);
  return patterns;
}

std::vector<std::string> FamilyModel::unread_in_folder(const Names& stored) const {
  const FolderNames folder(stored, tie_word_embeddings);
  const std::vector<std::string> patterns = unread_tensors(folder.names());
  std::vector<std::string> unread(folder.of_other_parts().begin(), folder.of_other_parts().end());
  for (const std::string& name : folder.names()) {
    if (matches_any(name, patterns)) unread.push_back(folder.in_folder(name));
  }
  return unread;
}

AttentionOptions FamilyModel::attention_of(std::int64_t layer) const {
  AttentionOptions options = attention();
  options.window = windows.of(layer);
  return options;
}

}  // namespace d9d
