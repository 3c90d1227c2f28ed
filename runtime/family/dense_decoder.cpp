#include "runtime/family/dense_decoder.hpp"

#include "runtime/base/error.hpp"
#include "runtime/family/folder/folder_names.hpp"
#include "runtime/family/hugging_face_rope.hpp"
#include "runtime/state/mapper/compose.hpp"
#include "runtime/state/mapper/rename.hpp"

namespace d9d {
namespace {

MapperPtr same_tensors(const DenseDecoder& model) {
  std::vector<MapperPtr> mappers = {identity(embedding_table), identity("model.norm.weight")};
  if (!model.tie_word_embeddings) mappers.push_back(identity(head_table));
  for (std::int64_t layer = 0; layer < model.num_hidden_layers; ++layer) {
    std::vector<std::string> names = tensors_outside_feed_forward(model.attention());
    for (std::string& name : tensors_of_dense_feed_forward(model.feed_forward()))
      names.push_back(std::move(name));
    for (const std::string& name : names) {
      mappers.push_back(identity(fmt::format("model.layers.{}.{}", layer, name)));
    }
  }
  return parallel(std::move(mappers));
}

}  // namespace

AttentionOptions DenseDecoder::attention() const {
  return {.hidden_size = hidden_size,
          .num_heads = num_attention_heads,
          .num_kv_heads = num_key_value_heads,
          .head_dim = head_dim,
          .value_head_dim = head_dim,
          .norm_eps = rms_norm_eps,
          .interleaved = rope.interleaved,
          .causal = causal};
}

SwiGluOptions DenseDecoder::feed_forward() const {
  return {hidden_size, intermediate_size};
}

BlockCosts DenseDecoder::layer(std::int64_t index, int ranks) const {
  BlockCosts costs = attention_costs(attention_of(index), ranks);
  costs += norm_costs(hidden_size);
  costs += norm_costs(hidden_size);
  costs += swiglu_costs(feed_forward(), ranks);
  return costs;
}

void DenseDecoder::require_tensor_parallel(int ranks) const {
  require_divisible_heads(attention(), ranks);
  require_divisible_width(intermediate_size, ranks);
  require_divisible_vocabulary(vocab_size, ranks);
}

MapperPtr DenseDecoder::from_hugging_face(const std::set<std::string>& /*stored*/) const {
  return same_tensors(*this);
}

MapperPtr DenseDecoder::to_hugging_face() const {
  return same_tensors(*this);
}

std::vector<std::string> tensors_outside_feed_forward(const AttentionOptions& attention) {
  std::vector<std::string> names = {"input_layernorm.weight",  "self_attn.q_proj.weight",
                                    "self_attn.k_proj.weight", "self_attn.v_proj.weight",
                                    "self_attn.o_proj.weight", "post_attention_layernorm.weight"};
  if (attention.qkv_bias) {
    names.insert(names.end(), {"self_attn.q_proj.bias", "self_attn.k_proj.bias", "self_attn.v_proj.bias"});
  }
  if (attention.output_bias) names.emplace_back("self_attn.o_proj.bias");
  if (attention.sinks) names.emplace_back("self_attn.sinks");
  if (attention.position_bias == PositionBias::buckets)
    names.emplace_back("self_attn.relative_attention_bias");
  return names;
}

std::vector<std::string> tensors_of_dense_feed_forward(const SwiGluOptions& feed_forward) {
  std::vector<std::string> names = {"mlp.gate_proj.weight", "mlp.up_proj.weight", "mlp.down_proj.weight"};
  if (feed_forward.bias)
    names.insert(names.end(), {"mlp.gate_proj.bias", "mlp.up_proj.bias", "mlp.down_proj.bias"});
  return names;
}

void DenseDecoder::validate(const std::string& where) const {
  validate_common(*this, where);
  D9D_REQUIRE(intermediate_size > 0, "{}: intermediate_size is {}, expected an integer above 0", where,
              intermediate_size);
  validate_rope(rope, attention().turning_dim(), where);
}

}  // namespace d9d
