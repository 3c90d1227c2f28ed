#include "runtime/family/qwen3/mappers.hpp"

#include <array>

#include "runtime/base/error.hpp"
#include "runtime/family/qwen3/config.hpp"
#include "runtime/state/mapper/compose.hpp"
#include "runtime/state/mapper/concatenate.hpp"
#include "runtime/state/mapper/rename.hpp"
#include "runtime/state/mapper/stack.hpp"

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

constexpr std::array<const char*, 3> expert_parts = {"gate_proj", "up_proj", "down_proj"};

std::vector<std::string> names_one_by_one(const std::string& experts, const char* part,
                                          std::int64_t num_experts) {
  std::vector<std::string> names;
  for (std::int64_t e = 0; e < num_experts; ++e) {
    names.push_back(fmt::format("{}{}.{}.weight", experts, e, part));
  }
  return names;
}

// The experts of one layer, `experts` being "model.layers.N.mlp.experts.".
void add_experts_from(Mappers& mappers, const std::string& experts, std::int64_t num_experts,
                      ExpertStorage storage) {
  const auto ours = [&](const char* part) { return experts + part + ".weight"; };
  if (storage == ExpertStorage::fused) {
    mappers.push_back(chunk(experts + "gate_up_proj", {ours("gate_proj"), ours("up_proj")}, 1));
    mappers.push_back(rename(experts + "down_proj", ours("down_proj")));
    return;
  }
  for (const char* part : expert_parts) {
    mappers.push_back(stack(names_one_by_one(experts, part, num_experts), ours(part), 0));
  }
}

void add_experts_to(Mappers& mappers, const std::string& experts, std::int64_t num_experts,
                    ExpertStorage storage) {
  const auto ours = [&](const char* part) { return experts + part + ".weight"; };
  if (storage == ExpertStorage::fused) {
    mappers.push_back(concatenate({ours("gate_proj"), ours("up_proj")}, experts + "gate_up_proj", 1));
    mappers.push_back(rename(ours("down_proj"), experts + "down_proj"));
    return;
  }
  for (const char* part : expert_parts) {
    mappers.push_back(unstack(ours(part), names_one_by_one(experts, part, num_experts), 0));
  }
}

template <class Add>
MapperPtr with_experts(const Qwen3Tensors& tensors, ExpertStorage storage, Add add) {
  Mappers mappers = unchanged(tensors);
  for (std::size_t layer = 0; layer < tensors.sparse_layers.size(); ++layer) {
    if (tensors.sparse_layers[layer]) {
      add(mappers, layer_prefix(layer) + "mlp.experts.", tensors.num_experts, storage);
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

ExpertStorage expert_storage_of(const Names& names) {
  bool fused = false;
  bool one_by_one = false;
  for (const std::string& name : names) {
    fused = fused || name.ends_with(".mlp.experts.gate_up_proj");
    one_by_one =
        one_by_one || (name.find(".mlp.experts.") != std::string::npos && name.ends_with("_proj.weight"));
  }
  D9D_REQUIRE(!fused || !one_by_one,
              "the folder holds experts one by one (mlp.experts.0.gate_proj.weight) and fused "
              "(mlp.experts.gate_up_proj); keep one form");
  return fused ? ExpertStorage::fused : ExpertStorage::one_by_one;
}

MapperPtr Qwen3Config::from_hugging_face(const Names& stored) const {
  return qwen3_from_hugging_face(tensors_of(*this), expert_storage_of(stored));
}

MapperPtr Qwen3Config::to_hugging_face() const {
  return qwen3_to_hugging_face(tensors_of(*this));
}

MapperPtr qwen3_from_hugging_face(const Qwen3Tensors& tensors, ExpertStorage storage) {
  return with_experts(tensors, storage, add_experts_from);
}

MapperPtr qwen3_to_hugging_face(const Qwen3Tensors& tensors, ExpertStorage storage) {
  return with_experts(tensors, storage, add_experts_to);
}

}  // namespace d9d
