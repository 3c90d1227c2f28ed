#include "runtime/task/model_folder/new_rows.hpp"

#include <algorithm>

#include "runtime/family/folder/folder_names.hpp"
#include "runtime/state/mapper/compose.hpp"
#include "runtime/state/mapper/mean_rows.hpp"

namespace d9d {
namespace {

constexpr const char* embedding_table = "model.embed_tokens.weight";
constexpr const char* head_table = "lm_head.weight";

std::int64_t rows_in(const ModelFiles& files, const FamilyModel& model) {
  const FolderNames folder(files.names(), model.tie_word_embeddings);
  if (!folder.names().contains(embedding_table)) return 0;
  const Shape& shape = files.spec(folder.in_folder(embedding_table)).shape;
  return shape.empty() ? 0 : shape.front();
}

}  // namespace

std::int64_t new_rows(const FamilyModel& model, const ModelFiles& files) {
  const std::int64_t rows = rows_in(files, model);
  if (rows == 0 || !model.vocabulary_parts.empty()) return 0;
  return std::max<std::int64_t>(0, model.vocab_size - rows);
}

MapperPtr folder_to_parameters(const FamilyModel& model, const ModelFiles& files) {
  MapperPtr mapper = model.folder_to_parameters(files.names());
  if (new_rows(model, files) == 0) return mapper;
  std::vector<MapperPtr> longer;
  for (const char* name : {embedding_table, head_table}) {
    if (outputs_of(*mapper).contains(name)) longer.push_back(mean_rows(name, model.vocab_size));
  }
  return sequential({mapper, parallel(std::move(longer))});
}

}  // namespace d9d
