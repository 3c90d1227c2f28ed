// Names and forms of a Hugging Face folder and those of a model's parameters: the family's own mapper, and around it
// what families know nothing of.
#include <algorithm>

#include "runtime/family/family_model.hpp"
#include "runtime/family/folder/folder_names.hpp"
#include "runtime/state/mapper/compose.hpp"
#include "runtime/state/mapper/concatenate.hpp"
#include "runtime/state/mapper/rename.hpp"
#include "runtime/state/mapper/restrict.hpp"

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
  kept.erase(head_table);
  return restrict_to_outputs(mapper, kept);
}

}  // namespace

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

}  // namespace d9d
