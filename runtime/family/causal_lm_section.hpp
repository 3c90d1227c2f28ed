#pragma once
// The keys of `model_provider.model` that families share: Hugging Face's (those of config.json, so that one
// can be pasted) and the original's that stand beside them (reference A.7).

#include <boost/describe/class.hpp>

#include <array>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/config/keys.hpp"
#include "runtime/family/model_keys.hpp"

namespace d9d {

struct CausalLmSection {
  std::optional<std::int64_t> hidden_size;
  std::optional<std::int64_t> intermediate_size;
  std::optional<std::int64_t> num_hidden_layers;
  std::optional<std::int64_t> num_attention_heads;
  std::optional<std::int64_t> num_key_value_heads;
  std::optional<std::int64_t> head_dim;
  std::optional<std::int64_t> vocab_size;
  std::optional<std::int64_t> max_position_embeddings;
  std::optional<double> rms_norm_eps;
  std::optional<double> initializer_range;
  std::optional<bool> tie_word_embeddings;
  std::optional<bool> attention_bias;
  std::optional<double> rope_theta;
  std::optional<nlohmann::json> rope_scaling;
  std::optional<nlohmann::json> rope_parameters;
  std::optional<std::int64_t> pad_token_id;
  std::optional<std::int64_t> bos_token_id;
  std::optional<nlohmann::json> eos_token_id;
  std::optional<double> rope_base;
  std::optional<std::int64_t> max_position_ids;
  std::optional<std::map<std::string, std::int64_t>> split_vocab_size;
  std::optional<std::vector<std::string>> split_vocab_order;
  std::optional<std::int64_t> pipeline_num_virtual_layers_pre;
  std::optional<std::int64_t> pipeline_num_virtual_layers_post;
  std::optional<nlohmann::json> hidden_act;
  std::optional<nlohmann::json> attention_dropout;
  std::optional<nlohmann::json> use_sliding_window;
  std::optional<nlohmann::json> sliding_window;
  std::optional<nlohmann::json> max_window_layers;
  std::optional<nlohmann::json> layer_types;
  std::optional<nlohmann::json> architectures;
  std::optional<nlohmann::json> model_type;
  std::optional<nlohmann::json> dtype;
  std::optional<nlohmann::json> torch_dtype;
  std::optional<nlohmann::json> use_cache;
  std::optional<nlohmann::json> transformers_version;
};
BOOST_DESCRIBE_STRUCT(CausalLmSection, (),
                      (hidden_size, intermediate_size, num_hidden_layers, num_attention_heads,
                       num_key_value_heads, head_dim, vocab_size, max_position_embeddings, rms_norm_eps,
                       initializer_range, tie_word_embeddings, attention_bias, rope_theta, rope_scaling,
                       rope_parameters, pad_token_id, bos_token_id, eos_token_id, rope_base, max_position_ids,
                       split_vocab_size, split_vocab_order, pipeline_num_virtual_layers_pre,
                       pipeline_num_virtual_layers_post, hidden_act, attention_dropout, use_sliding_window,
                       sliding_window, max_window_layers, layer_types, architectures, model_type, dtype,
                       torch_dtype, use_cache, transformers_version))
constexpr auto keys_of(config::Tag<CausalLmSection>) {
  using namespace model_keys;
  return std::array{hidden_size,
                    intermediate_size,
                    num_hidden_layers,
                    num_attention_heads,
                    num_key_value_heads,
                    head_dim,
                    vocab_size,
                    max_position_embeddings,
                    rms_norm_eps,
                    initializer_range,
                    tie_word_embeddings,
                    attention_bias,
                    rope_theta,
                    rope_scaling,
                    rope_parameters,
                    pad_token_id,
                    bos_token_id,
                    eos_token_id,
                    rope_base,
                    max_position_ids,
                    split_vocab_size,
                    split_vocab_order,
                    pipeline_num_virtual_layers_pre,
                    pipeline_num_virtual_layers_post,
                    hidden_act,
                    attention_dropout,
                    use_sliding_window,
                    sliding_window,
                    max_window_layers,
                    layer_types,
                    architectures,
                    model_type,
                    dtype,
                    torch_dtype,
                    use_cache,
                    transformers_version};
}

}  // namespace d9d
