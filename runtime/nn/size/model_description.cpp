#include "runtime/nn/size/model_description.hpp"

#include <algorithm>
#include <functional>
#include <numeric>

#include "runtime/base/error.hpp"

namespace d9d {
namespace {

void require_positive(const std::string& where, const char* key, std::int64_t value) {
  D9D_REQUIRE(value > 0, "{}: {} is {}, expected an integer above 0", where, key, value);
}

// Limits of models that can be built or counted: beyond them products of sizes would need more than 63 bits,
// and the modules more memory than there is.
constexpr std::int64_t hidden_size_max = std::int64_t{1} << 20;
constexpr std::int64_t layers_max = 10'000;
constexpr std::int64_t heads_max = std::int64_t{1} << 16;

void require_size(const std::string& where, const char* key, std::int64_t value, std::int64_t max) {
  require_positive(where, key, value);
  D9D_REQUIRE(value <= max, "{}: {} is {}, expected at most {}", where, key, value, max);
}

}  // namespace

bool ModelDescription::has_language_model_head() const {
  const auto predicts = [](const auto& head) { return std::holds_alternative<CausalLmHead>(head.second); };
  return heads.empty() || std::any_of(heads.begin(), heads.end(), predicts);
}

std::int64_t ModelDescription::head_parameters(int ranks) const {
  const bool own_matrix = has_language_model_head() && !tie_word_embeddings;
  const std::int64_t words = (vocab_size + ranks - 1) / ranks;
  std::int64_t sum = own_matrix ? words * hidden_size : 0;
  const auto add = [&](const std::map<std::string, std::vector<std::int64_t>>& shapes) {
    for (const auto& [parameter, shape] : shapes)
      sum += std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
  };
  if (has_language_model_head()) {
    add(parameters_of_transform(head_transform, hidden_size));
    if (logit_bias) sum += words;
  }
  for (const auto& [name, head] : heads) add(parameters_of_head(head, hidden_size, head_transform));
  return sum;
}

void validate_common(const ModelDescription& model, const std::string& where) {
  require_positive(where, "vocab_size", model.vocab_size);
  require_size(where, "hidden_size", model.hidden_size, hidden_size_max);
  require_size(where, "num_hidden_layers", model.num_hidden_layers, layers_max);
  require_positive(where, "max_position_embeddings", model.max_position_embeddings);
  D9D_REQUIRE(model.rms_norm_eps > 0, "{}: rms_norm_eps is {}, expected a number above 0", where,
              model.rms_norm_eps);
  D9D_REQUIRE(model.initializer_range > 0, "{}: initializer_range is {}, expected a number above 0", where,
              model.initializer_range);
  D9D_REQUIRE(model.dtype == "float32" || model.dtype == "bfloat16" || model.dtype == "float16",
              "{}: dtype is '{}', expected float32, bfloat16 or float16", where, model.dtype);
  D9D_REQUIRE(!model.pad_token_id || (*model.pad_token_id >= 0 && *model.pad_token_id < model.vocab_size),
              "{}: pad_token_id is {}, outside of the vocabulary of {}", where, *model.pad_token_id,
              model.vocab_size);
  D9D_REQUIRE(model.pipeline_num_virtual_layers_pre >= 0 && model.pipeline_num_virtual_layers_post >= 0,
              "{}: pipeline_num_virtual_layers_pre and _post must be 0 or more", where);
  const AttentionOptions attention = model.attention();
  require_size(where, "num_attention_heads", attention.num_heads, heads_max);
  require_size(where, "num_key_value_heads", attention.num_kv_heads, heads_max);
  require_size(where, "head_dim", attention.head_dim, heads_max);
  D9D_REQUIRE(attention.num_heads % attention.num_kv_heads == 0,
              "{}: num_attention_heads ({}) is not a multiple of num_key_value_heads ({})", where,
              attention.num_heads, attention.num_kv_heads);
  D9D_REQUIRE(attention.head_dim % 2 == 0, "{}: head_dim is {}, rotary embedding needs an even number", where,
              attention.head_dim);
  D9D_REQUIRE(attention.turning_dim() % 2 == 0 && attention.turning_dim() <= attention.head_dim,
              "{}: rotary embedding turns {} of the {} dimensions of a head, expected an even number of them",
              where, attention.turning_dim(), attention.head_dim);
}

}  // namespace d9d
