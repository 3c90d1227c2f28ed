#pragma once
// The section `model_provider.model.layer` of Qwen3: the original's keys of a layer (reference A.7), instead of
// Hugging Face's.

#include <boost/describe/class.hpp>

#include <array>
#include <cstdint>

#include "runtime/base/config/keys.hpp"

namespace d9d {

struct DenseLayerSection {
  std::int64_t hidden_size = 0;
  std::int64_t intermediate_size = 0;
  std::int64_t num_attention_heads = 0;
  std::int64_t num_key_value_heads = 0;
  double rms_norm_eps = 0;
  std::int64_t head_dim = 0;
};
BOOST_DESCRIBE_STRUCT(DenseLayerSection, (),
                      (hidden_size, intermediate_size, num_attention_heads, num_key_value_heads, rms_norm_eps,
                       head_dim))

struct MoeLayerSection {
  std::int64_t hidden_size = 0;
  std::int64_t intermediate_size = 0;
  std::int64_t num_experts = 0;
  std::int64_t experts_top_k = 0;
  std::int64_t num_attention_heads = 0;
  std::int64_t num_key_value_heads = 0;
  double rms_norm_eps = 0;
  std::int64_t head_dim = 0;
};
BOOST_DESCRIBE_STRUCT(MoeLayerSection, (),
                      (hidden_size, intermediate_size, num_experts, experts_top_k, num_attention_heads,
                       num_key_value_heads, rms_norm_eps, head_dim))

namespace layer_keys {
using config::Key;
constexpr Key count(std::string_view name, std::string_view meaning) {
  return {name, "", meaning, config::required, config::at_least(1)};
}
inline constexpr Key hidden_size = count("hidden_size", "width of the residual stream");
inline constexpr Key num_attention_heads = count("num_attention_heads", "query heads");
inline constexpr Key num_key_value_heads = count("num_key_value_heads", "key and value heads");
inline constexpr Key rms_norm_eps{"rms_norm_eps", "", "added to the mean square", config::required,
                                  config::above(0)};
inline constexpr Key head_dim = count("head_dim", "width of a head");
}  // namespace layer_keys

constexpr auto keys_of(config::Tag<DenseLayerSection>) {
  using namespace layer_keys;
  return std::array{hidden_size,         count("intermediate_size", "width of the MLP"),
                    num_attention_heads, num_key_value_heads,
                    rms_norm_eps,        head_dim};
}
constexpr auto keys_of(config::Tag<MoeLayerSection>) {
  using namespace layer_keys;
  return std::array{hidden_size,
                    count("intermediate_size", "width of an expert"),
                    count("num_experts", "experts"),
                    count("experts_top_k", "experts that each token visits; their probabilities sum to 1"),
                    num_attention_heads,
                    num_key_value_heads,
                    rms_norm_eps,
                    head_dim};
}

}  // namespace d9d
