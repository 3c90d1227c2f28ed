#include "runtime/family/qwen3/mappers.hpp"

#include "runtime/family/qwen3/config.hpp"
#include "runtime/state/mapper/compose.hpp"
#include "runtime/state/mapper/rename.hpp"

namespace d9d {
namespace {

using Mappers = std::vector<MapperPtr>;

std::string layer_prefix(std::size_t layer) {
  return "model.layers." + std::to_string(layer) + ".";
}

void add_same(Mappers& mappers, const std::string& prefix, std::initializer_list<const char*> names) {
  for (const char* name : names) mappers.push_back(identity(prefix + name));
}

// All tensors that have the same name and shape on both sides.
Mappers unchanged(const Qwen3Tensors& tensors) {
  Mappers mappers;
  add_same(mappers, "model.", {"embed_tokens.weight", "norm.weight"});
  if (!tensors.tied_embeddings) add_same(mappers, "", {"lm_head.weight"});
  for (std::size_t layer = 0; layer < tensors.sparse_layers.size(); ++layer) {
    const std::string prefix = layer_prefix(layer);
    add_same(mappers, prefix, {"input_layernorm.weight", "post_attention_layernorm.weight"});
    add_same(mappers, prefix + "self_attn.",
             {"q_proj.weight", "k_proj.weight", "v_proj.weight", "o_proj.weight", "q_norm.weight",
              "k_norm.weight"});
    if (tensors.attention_bias) {
      add_same(mappers, prefix + "self_attn.", {"q_proj.bias", "k_proj.bias", "v_proj.bias", "o_proj.bias"});
    }
    if (tensors.sparse_layers[layer]) {
      add_same(mappers, prefix + "mlp.", {"gate.weight"});
    } else {
      add_same(mappers, prefix + "mlp.", {"gate_proj.weight", "up_proj.weight", "down_proj.weight"});
    }
  }
  return mappers;
}

template <class Add>
MapperPtr with_experts(const Qwen3Tensors& tensors, ExpertStorage storage, Add add) {
  Mappers mappers = unchanged(tensors);
  for (std::size_t layer = 0; layer < tensors.sparse_layers.size(); ++layer) {
    if (tensors.sparse_layers[layer]) {
      const std::string experts = layer_prefix(layer) + "mlp.experts.";
      add(mappers, ExpertTensors{experts, experts, tensors.num_experts}, storage);
    }
  }
  return parallel(std::move(mappers));
}

Qwen3Tensors tensors_of(const Qwen3Config& config) {
  Qwen3Tensors tensors;
  for (std::int64_t layer = 0; layer < config.num_hidden_layers; ++layer) {
    tensors.sparse_layers.push_back(config.is_sparse_layer(layer));
  }
  tensors.num_experts = config.num_experts;
  tensors.attention_bias = config.attention_bias;
  tensors.tied_embeddings = config.tie_word_embeddings;
  return tensors;
}

}  // namespace

MapperPtr Qwen3Config::from_hugging_face(const Names& stored) const {
  return qwen3_from_hugging_face(tensors_of(*this), expert_storage_of(stored));
}

MapperPtr Qwen3Config::to_hugging_face() const {
  return qwen3_to_hugging_face(tensors_of(*this));
}

std::vector<FolderForm> Qwen3Config::folder_forms() const {
  std::vector<FolderForm> forms = FamilyModel::folder_forms();
  if (experts_per_layer() == 0) return forms;
  forms.push_back({"experts_one_by_one", "a tensor for each expert and projection, for transformers 4 and 5",
                   qwen3_to_hugging_face(tensors_of(*this), ExpertStorage::one_by_one)});
  forms.push_back({"experts_fused", "the experts of a layer in two tensors, for transformers 5",
                   qwen3_to_hugging_face(tensors_of(*this), ExpertStorage::fused)});
  return forms;
}

MapperPtr qwen3_from_hugging_face(const Qwen3Tensors& tensors, ExpertStorage storage) {
  return with_experts(tensors, storage, add_experts_from);
}

MapperPtr qwen3_to_hugging_face(const Qwen3Tensors& tensors, ExpertStorage storage) {
  return with_experts(tensors, storage, add_experts_to);
}

}  // namespace d9d
