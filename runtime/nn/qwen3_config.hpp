#pragma once
// The options of a Qwen3 causal language model, dense or mixture of experts, with the names Hugging Face
// gives them. Plain values without torch; read from a config.json by hugging_face_config.hpp or filled from a
// job file. Defaults are those of transformers 5.23 (Qwen3Config, Qwen3MoeConfig) where the two families
// agree.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace d9d {

enum class ModelFamily { dense, moe };

// Rotary position embedding. Frequencies of head dimension pair i: theta^(-2i/head_dim), changed by `type`:
//   default  as they are
//   linear   divided by factor (Chen et al. 2023, "Extending context window ... via positional
//   interpolation") dynamic  as they are up to max_position_embeddings; longer sequences are refused yarn
//   blended per frequency, cos and sin scaled (Peng et al. 2023, arXiv 2309.00071, sections 3.2 to 3.4)
//   llama3   long wavelengths divided by factor, a smooth step between (Llama 3.1 model card)
struct RopeOptions {
  enum class Type { plain, linear, dynamic, yarn, llama3 };
  Type type = Type::plain;
  double theta = 10000.0;
  double factor = 1.0;
  std::int64_t original_max_position_embeddings = 0;  // yarn, llama3
  std::optional<double> attention_factor;             // yarn
  std::optional<double> mscale;                       // yarn
  std::optional<double> mscale_all_dim;               // yarn
  double beta_fast = 32.0;                            // yarn
  double beta_slow = 1.0;                             // yarn
  bool truncate = true;                               // yarn
  double low_freq_factor = 1.0;                       // llama3
  double high_freq_factor = 4.0;                      // llama3

  bool operator==(const RopeOptions&) const = default;
};

struct Qwen3Config {
  ModelFamily family = ModelFamily::dense;
  std::int64_t vocab_size = 151936;
  std::int64_t hidden_size = 0;
  std::int64_t intermediate_size = 0;  // of dense layers
  std::int64_t num_hidden_layers = 0;
  std::int64_t num_attention_heads = 0;
  std::int64_t num_key_value_heads = 0;
  std::int64_t head_dim = 128;
  std::int64_t max_position_embeddings = 32768;
  double rms_norm_eps = 1e-6;
  double initializer_range = 0.02;
  bool tie_word_embeddings = false;
  bool attention_bias = false;  // biases on q, k, v and o projections
  RopeOptions rope;
  // Mixture of experts only. A layer is sparse unless it is listed in mlp_only_layers or
  // (index + 1) % decoder_sparse_step != 0.
  std::int64_t moe_intermediate_size = 768;
  std::int64_t num_experts = 128;
  std::int64_t num_experts_per_tok = 8;
  bool norm_topk_prob = false;  // divide the chosen probabilities by their sum
  std::int64_t decoder_sparse_step = 1;
  std::vector<std::int64_t> mlp_only_layers;

  std::string dtype = "float32";  // float32, bfloat16 or float16: what the file's weights are meant to run in
  std::optional<std::int64_t> pad_token_id;  // its embedding row gets no gradient from the embedding
  std::optional<std::int64_t> bos_token_id;
  std::vector<std::int64_t> eos_token_ids;

  // PIPE-02: the weight of embedding and head in the distribution of layers over stages, in layers.
  std::int64_t pipeline_num_virtual_layers_pre = 0;
  std::int64_t pipeline_num_virtual_layers_post = 0;

  bool is_sparse_layer(std::int64_t layer_index) const;
  bool operator==(const Qwen3Config&) const = default;
};

// An input error that names the first impossible value; `where` leads the text (a file, a key path).
void validate(const Qwen3Config& config, const std::string& where = "model");

}  // namespace d9d
