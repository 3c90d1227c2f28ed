#include "runtime/family/own/own_decoder.hpp"

#include <fmt/format.h>

#include <array>
#include <string_view>

#include "runtime/family/folder/folder_names.hpp"
#include "runtime/state/mapper/compose.hpp"
#include "runtime/state/mapper/rename.hpp"
#include "runtime/state/mapper/stack.hpp"
#include "runtime/tensor/stage_module.hpp"

namespace d9d {
namespace {

constexpr std::string_view in_experts = ".experts.";

// A tensor of the model, and the tensors of a folder of which it is made: itself, or those of all experts.
struct StoredTensor {
  std::string ours;
  std::vector<std::string> theirs;
  bool of_experts = false;
};

StoredTensor stored_tensor(const OwnDecoder& model, const std::string& name, const at::Tensor& tensor) {
  const auto at = name.rfind(in_experts);
  if (at == std::string::npos || tensor.dim() < 2) return {name, {model.in_folder(name)}};
  StoredTensor stored{.ours = name, .of_experts = true};
  const auto behind = at + in_experts.size();
  for (std::int64_t expert = 0; expert < tensor.size(0); ++expert) {
    stored.theirs.push_back(
        model.in_folder(fmt::format("{}{}.{}", name.substr(0, behind), expert, name.substr(behind))));
  }
  return stored;
}

// Vocabularies in parts and heads are FamilyModel's business.
std::vector<StoredTensor> stored_tensors(const OwnDecoder& model) {
  const auto stage = model.build_shapes();
  constexpr std::array<std::string_view, 2> ends{"model.embed_tokens.", "lm_head."};
  const std::vector<std::string> heads = model.own_head_parameters();
  std::vector<StoredTensor> tensors{{embedding_table, {model.in_folder(embedding_table)}}};
  if (model.has_language_model_head() && !model.tie_word_embeddings)
    tensors.push_back({head_table, {model.in_folder(head_table)}});
  for (const StageParameter& parameter : stage->parameters()) {
    const auto begins = [&](std::string_view end) { return parameter.name.starts_with(end); };
    const bool of_head = std::ranges::find(heads, parameter.name) != heads.end();
    if (of_head || std::ranges::any_of(ends, begins)) continue;
    tensors.push_back(stored_tensor(model, parameter.name, parameter.tensor));
  }
  for (const StageBuffer& buffer : stage->buffers())
    tensors.push_back(stored_tensor(model, buffer.name, buffer.tensor));
  return tensors;
}

}  // namespace

void OwnDecoder::validate(const std::string& where) const {
  if (num_experts == 0) return DenseDecoder::validate(where);
  SparseDecoder::validate(where);
}

MapperPtr OwnDecoder::from_hugging_face(const std::set<std::string>& /*stored*/) const {
  std::vector<MapperPtr> mappers;
  for (const StoredTensor& tensor : stored_tensors(*this))
    mappers.push_back(tensor.of_experts ? stack(tensor.theirs, tensor.ours, 0)
                                        : rename(tensor.theirs.front(), tensor.ours));
  return parallel(std::move(mappers));
}

MapperPtr OwnDecoder::to_hugging_face() const {
  std::vector<MapperPtr> mappers;
  for (const StoredTensor& tensor : stored_tensors(*this))
    mappers.push_back(tensor.of_experts ? unstack(tensor.ours, tensor.theirs, 0)
                                        : rename(tensor.ours, tensor.theirs.front()));
  return parallel(std::move(mappers));
}

std::vector<FolderForm> OwnDecoder::folder_forms() const {
  return FamilyModel::folder_forms();
}

std::vector<std::string> OwnDecoder::unread_tensors(const std::set<std::string>& stored) const {
  std::vector<std::string> patterns = SparseDecoder::unread_tensors(stored);
  if (tie_word_embeddings || !has_language_model_head()) patterns.push_back(in_folder(head_table));
  return patterns;
}

}  // namespace d9d
