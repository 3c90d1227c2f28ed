#include "runtime/family/family_model.hpp"

#include <algorithm>

#include "runtime/family/folder/folder_names.hpp"
#include "runtime/family/prediction_tensors.hpp"
#include "runtime/nn/model/build_options.hpp"
#include "runtime/nn/plan/causal_lm_plan.hpp"
#include "runtime/state/mapper/compose.hpp"
#include "runtime/state/mapper/concatenate.hpp"
#include "runtime/state/mapper/rename.hpp"
#include "runtime/state/mapper/restrict.hpp"
#include "runtime/state/pattern.hpp"
#include "runtime/tensor/stage_module.hpp"
#include "runtime/tensor/torch_dtype.hpp"

namespace d9d {
namespace {

constexpr std::string_view body_prefix = "model.";

// The tensors of a folder that have a row for each word.
std::vector<std::string> vocabulary_tensors(const FamilyModel& model) {
  if (model.tie_word_embeddings || !model.has_language_model_head()) return {"model.embed_tokens"};
  return {"model.embed_tokens", "lm_head"};
}

std::vector<NamedSize> tables_of(const std::string& module, const FamilyModel& model) {
  std::vector<NamedSize> tables;
  for (const VocabularyPart& part : model.vocabulary_parts)
    tables.push_back({module + "." + part.name + ".weight", part.size});
  return tables;
}

std::vector<std::string> names_of(const std::vector<NamedSize>& tables) {
  std::vector<std::string> names;
  for (const NamedSize& table : tables) names.push_back(table.name);
  return names;
}

// The names of a folder of the model without any head begin within `model.`, where they have it at all.
MapperPtr moved_outside(const Names& names) {
  std::vector<MapperPtr> moved;
  for (const std::string& name : names)
    moved.push_back(rename(name, name.starts_with(body_prefix) ? name.substr(body_prefix.size()) : name));
  return parallel(std::move(moved));
}

MapperPtr without_language_head(const MapperPtr& mapper) {
  Names kept = outputs_of(*mapper);
  kept.erase("lm_head.weight");
  return restrict_to_outputs(mapper, kept);
}

}  // namespace

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

MapperPtr FamilyModel::folder_to_parameters(const Names& stored) const {
  const FolderNames folder(stored, tie_word_embeddings);
  MapperPtr mapper = from_hugging_face(folder.names());
  if (!has_language_model_head()) mapper = without_language_head(mapper);
  if (!vocabulary_parts.empty()) {
    std::vector<MapperPtr> cuts;
    for (const std::string& module : vocabulary_tensors(*this))
      cuts.push_back(cut(module + ".weight", tables_of(module, *this), 0));
    mapper = sequential({mapper, parallel(std::move(cuts))});
  }
  std::vector<MapperPtr> all{mapper};
  for (const std::string& name : own_head_parameters()) {
    if (folder.names().contains(name)) all.push_back(identity(name));
  }
  return respelled(parallel(std::move(all)), folder);
}

MapperPtr FamilyModel::parameters_to_folder() const {
  MapperPtr mapper = to_hugging_face();
  if (!has_language_model_head()) mapper = without_language_head(mapper);
  if (!vocabulary_parts.empty()) {
    std::vector<MapperPtr> joined;
    for (const std::string& module : vocabulary_tensors(*this))
      joined.push_back(concatenate(names_of(tables_of(module, *this)), module + ".weight", 0));
    mapper = sequential({parallel(std::move(joined)), mapper});
  }
  if (heads.empty()) return mapper;
  const std::vector<std::string> own = own_head_parameters();
  if (own.empty() && !has_language_model_head())
    return sequential({mapper, moved_outside(outputs_of(*mapper))});
  std::vector<MapperPtr> all{mapper};
  for (const std::string& name : own) all.push_back(rename(name, head_in_folder(name)));
  return parallel(std::move(all));
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
  if (tie_word_embeddings || !has_language_model_head()) patterns.emplace_back("lm_head.weight");
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
