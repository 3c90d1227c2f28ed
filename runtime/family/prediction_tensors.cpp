#include "runtime/family/prediction_tensors.hpp"

#include <fmt/format.h>

#include "runtime/family/folder/folder_names.hpp"
#include "runtime/state/mapper/rename.hpp"

namespace d9d {
namespace {

constexpr const char* copied_embedding = "embed_tokens.weight";
constexpr const char* copied_head = "shared_head.head.weight";

void add_copies(const ModelDescription& model, const char* copy, std::vector<std::string>& names) {
  for (std::int64_t layer = model.num_hidden_layers; layer < model.num_all_layers(); ++layer)
    names.push_back(prediction_prefix(layer) + copy);
}

}  // namespace

std::string prediction_prefix(std::int64_t layer) {
  return fmt::format("model.layers.{}.", layer);
}

std::vector<std::string> tensors_of_prediction() {
  return {"enorm.weight", "hnorm.weight", "eh_proj.weight", "shared_head.norm.weight"};
}

bool has_prediction_layer(const std::set<std::string>& stored, std::int64_t layer) {
  return stored.contains(prediction_prefix(layer) + "eh_proj.weight");
}

std::vector<std::string> copies_of_prediction(const ModelDescription& model) {
  std::vector<std::string> names;
  for (const char* copy : {copied_embedding, copied_head}) add_copies(model, copy, names);
  return names;
}

std::vector<MapperPtr> with_copies_of_prediction(const ModelDescription& model) {
  std::vector<std::string> embedding{embedding_table};
  std::vector<std::string> head{head_table};
  add_copies(model, copied_embedding, embedding);
  add_copies(model, copied_head, model.tie_word_embeddings ? embedding : head);
  std::vector<MapperPtr> mappers{copies(embedding_table, embedding)};
  if (!model.tie_word_embeddings) mappers.push_back(copies(head_table, head));
  return mappers;
}

}  // namespace d9d
