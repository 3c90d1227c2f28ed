#include "runtime/family/sparse_decoder.hpp"

#include <algorithm>
#include <numeric>

#include "runtime/base/count.hpp"
#include "runtime/base/error.hpp"
#include "runtime/family/expert_tensors.hpp"
#include "runtime/family/folder/folder_names.hpp"
#include "runtime/family/prediction_tensors.hpp"
#include "runtime/state/mapper/compose.hpp"
#include "runtime/state/mapper/rename.hpp"

namespace d9d {
namespace {

using Mappers = std::vector<MapperPtr>;

// Those of multi-token prediction only where the folder has them.
std::vector<std::int64_t> layers_in(const SparseDecoder& model, const std::set<std::string>& stored) {
  std::vector<std::int64_t> layers;
  for (std::int64_t layer = 0; layer < model.num_all_layers(); ++layer) {
    if (layer < model.num_hidden_layers || has_prediction_layer(stored, layer)) layers.push_back(layer);
  }
  return layers;
}

std::vector<std::int64_t> all_layers_of(const SparseDecoder& model) {
  std::vector<std::int64_t> layers(static_cast<std::size_t>(model.num_all_layers()));
  std::iota(layers.begin(), layers.end(), std::int64_t{0});
  return layers;
}

void require_above_zero(const std::string& where, const char* name, std::int64_t value) {
  D9D_REQUIRE(value > 0, "{}: {} is {}, expected an integer above 0", where, name, value);
}

}  // namespace

// Tensors of the layers with the same shape on both sides; add(stored name, our name).
template <class Add>
void SparseDecoder::for_equal_tensors(const std::vector<std::int64_t>& layers, const StoredNames& names,
                                      Add add) const {
  const auto same = [&](const std::string& name) { add(name, name); };
  same("model.norm.weight");
  for (const std::int64_t layer : layers) {
    const std::string prefix = fmt::format("model.layers.{}.", layer);
    for (const auto& name : tensors_outside_mlp(layer)) same(prefix + name);
    if (layer >= num_hidden_layers) {
      for (const auto& name : tensors_of_prediction()) same(prefix + name);
    }
    if (!is_sparse_layer(layer)) {
      for (const auto& name : tensors_of_dense_feed_forward(feed_forward())) same(prefix + name);
      continue;
    }
    for (const auto& name : tensors_beside_experts()) {
      const std::string theirs = name.starts_with("gate.") ? names.router + name.substr(4) : name;
      add(fmt::format("{}{}.{}", prefix, names.block, theirs), prefix + "mlp." + name);
    }
  }
}

bool SparseDecoder::is_sparse_layer(std::int64_t layer) const {
  if (num_experts == 0) return false;
  if (std::find(mlp_only_layers.begin(), mlp_only_layers.end(), layer) != mlp_only_layers.end()) return false;
  return (layer + 1) % decoder_sparse_step == 0;
}

std::vector<std::string> SparseDecoder::tensors_outside_mlp(std::int64_t /*layer*/) const {
  return tensors_outside_feed_forward(attention());
}

std::vector<std::string> SparseDecoder::tensors_beside_experts() const {
  std::vector<std::string> names = {"gate.weight"};
  if (moe().clamped) names.emplace_back("gate.bias");
  if (shared_expert_intermediate_size > 0) {
    for (const char* projection : {"gate_proj", "up_proj", "down_proj"}) {
      names.push_back(fmt::format("shared_expert.{}.weight", projection));
    }
    names.emplace_back("shared_expert_gate.weight");
  }
  return names;
}

MoeOptions SparseDecoder::moe() const {
  return {.hidden_size = hidden_size,
          .intermediate_size = moe_intermediate_size,
          .num_experts = num_experts,
          .top_k = num_experts_per_tok,
          .renormalise = norm_topk_prob,
          .shared_intermediate_size = shared_expert_intermediate_size,
          .router_sums = router_aux_loss_coef != 0 || router_z_loss_coef != 0};
}

// One probability divided by the sum of one is 1.
bool SparseDecoder::fixes_expert_weights() const {
  return num_experts > 1 && num_experts_per_tok == 1 && moe().renormalise;
}

BalanceOptions SparseDecoder::balance() const {
  BalanceOptions options{router_aux_loss_coef, router_z_loss_coef, num_experts, 0, num_experts_per_tok};
  for (std::int64_t index = 0; index < num_hidden_layers; ++index) options.layers += is_sparse_layer(index);
  return options;
}

BlockCosts SparseDecoder::layer(std::int64_t index, int ranks) const {
  if (!is_sparse_layer(index)) return DenseDecoder::layer(index, ranks);
  BlockCosts costs = attention_costs(attention_of(index), ranks);
  costs += norm_costs(hidden_size);
  costs += norm_costs(hidden_size);
  costs += mixture_costs(moe(), ranks);
  return costs;
}

void SparseDecoder::require_tensor_parallel(int ranks) const {
  require_divisible_heads(attention(), ranks);
  bool dense_layers = false;
  for (std::int64_t index = 0; index < num_hidden_layers; ++index) dense_layers |= !is_sparse_layer(index);
  if (dense_layers) require_divisible_width(intermediate_size, ranks);
  if (shared_expert_intermediate_size > 0) require_divisible_width(shared_expert_intermediate_size, ranks);
  require_divisible_vocabulary(vocab_size, ranks);
}

SparseDecoder::StoredNames SparseDecoder::names_in(const std::set<std::string>& /*stored*/) const {
  return {};
}

MapperPtr SparseDecoder::from_hugging_face(const std::set<std::string>& stored) const {
  const StoredNames names = names_in(stored);
  const std::vector<std::int64_t> layers = layers_in(*this, stored);
  Mappers mappers{identity(embedding_table)};
  if (!tie_word_embeddings) mappers.push_back(identity(head_table));
  for_equal_tensors(layers, names, [&](const std::string& theirs, const std::string& ours) {
    mappers.push_back(theirs == ours ? identity(ours) : rename(theirs, ours));
  });
  const ExpertStorage storage = names.experts ? *names.experts : expert_storage_of(stored);
  for (const std::int64_t layer : layers) {
    if (!is_sparse_layer(layer)) continue;
    const std::string prefix = fmt::format("model.layers.{}.", layer);
    add_experts_from(mappers,
                     {prefix + names.block + ".experts.", prefix + "mlp.experts.", num_experts, names.gate,
                      names.up, names.down},
                     storage);
  }
  return parallel(std::move(mappers));
}

MapperPtr SparseDecoder::to_hugging_face() const {
  return to_folder(names_of_export(), /*fused=*/false);
}

std::vector<FolderForm> SparseDecoder::folder_forms() const {
  std::vector<FolderForm> forms = FamilyModel::folder_forms();
  if (experts_per_layer() == 0 || names_of_export().experts) return forms;
  forms.push_back({"experts_one_by_one", "a tensor for each expert and projection, for transformers 4 and 5",
                   to_folder(names_of_export(), /*fused=*/false)});
  forms.push_back({"experts_fused", "the experts of a layer in two tensors, for transformers 5",
                   to_folder({}, /*fused=*/true)});
  return forms;
}

MapperPtr SparseDecoder::to_folder(const StoredNames& names, bool fused) const {
  const std::vector<std::int64_t> layers = all_layers_of(*this);
  const ExpertStorage storage =
      names.experts.value_or(fused ? ExpertStorage::fused : ExpertStorage::one_by_one);
  Mappers mappers = with_copies_of_prediction(*this);
  for_equal_tensors(layers, names, [&](const std::string& theirs, const std::string& ours) {
    mappers.push_back(theirs == ours ? identity(ours) : rename(ours, theirs));
  });
  for (const std::int64_t layer : layers) {
    if (!is_sparse_layer(layer)) continue;
    const std::string prefix = fmt::format("model.layers.{}.", layer);
    add_experts_to(mappers,
                   {prefix + names.block + ".experts.", prefix + "mlp.experts.", num_experts, names.gate,
                    names.up, names.down},
                   storage);
  }
  return parallel(std::move(mappers));
}

void SparseDecoder::validate(const std::string& where) const {
  DenseDecoder::validate(where);
  require_above_zero(where, "moe_intermediate_size", moe_intermediate_size);
  require_above_zero(where, "decoder_sparse_step", decoder_sparse_step);
  constexpr std::int64_t width_max = std::int64_t{1} << 22, experts_max = std::int64_t{1} << 16;
  D9D_REQUIRE(num_experts >= 0 && num_experts <= experts_max, "{}: num_experts is {}, expected 0 to {}",
              where, num_experts, experts_max);
  D9D_REQUIRE(moe_intermediate_size <= width_max, "{}: moe_intermediate_size is {}, expected at most {}",
              where, moe_intermediate_size, width_max);
  D9D_REQUIRE(shared_expert_intermediate_size <= width_max,
              "{}: the shared expert's width is {}, expected at most {}", where,
              shared_expert_intermediate_size, width_max);
  if (num_experts > 0) {
    require_above_zero(where, "num_experts_per_tok", num_experts_per_tok);
    D9D_REQUIRE(num_experts_per_tok <= num_experts,
                "{}: num_experts_per_tok is {}, but the model has {}; lower it or raise num_experts", where,
                num_experts_per_tok, counted(num_experts, "expert"));
  }
  for (const std::int64_t layer : mlp_only_layers) {
    D9D_REQUIRE(layer >= 0 && layer < num_hidden_layers,
                "{}: mlp_only_layers names layer {}, expected 0 to {} (num_hidden_layers is {})", where,
                layer, num_hidden_layers - 1, num_hidden_layers);
  }
}

}  // namespace d9d
