#pragma once
// The keys of a model in a job file: unit and meaning of each, for the described sections of families.

#include "runtime/base/config/keys.hpp"

namespace d9d::model_keys {

using config::Key;
inline constexpr Key layer{"layer", "", "the original's keys of a layer, instead of Hugging Face's"};
inline constexpr Key hidden_size{"hidden_size", "", "width of the residual stream; required without `from`",
                                 config::optional, config::at_least(1)};
inline constexpr Key intermediate_size{"intermediate_size", "", "width of a dense layer's MLP",
                                       config::optional, config::at_least(1)};
inline constexpr Key num_hidden_layers{"num_hidden_layers", "layers",
                                       "decoder layers; required without `from`", config::optional,
                                       config::at_least(1)};
inline constexpr Key num_attention_heads{"num_attention_heads", "", "query heads; required without `from`",
                                         config::optional, config::at_least(1)};
inline constexpr Key num_key_value_heads{"num_key_value_heads", "",
                                         "key and value heads; required without `from`", config::optional,
                                         config::at_least(1)};
inline constexpr Key head_dim{"head_dim", "", "width of a head; required without `from`", config::optional,
                              config::at_least(2)};
inline constexpr Key vocab_size{"vocab_size", "tokens", "size of the vocabulary; required without `from`",
                                config::optional, config::at_least(1)};
inline constexpr Key max_position_embeddings{"max_position_embeddings", "tokens",
                                             "longest sequence the positions are meant for; null: 32768",
                                             config::optional, config::at_least(1)};
inline constexpr Key rms_norm_eps{"rms_norm_eps", "", "added to the mean square; null: 1e-6",
                                  config::optional, config::above(0)};
inline constexpr Key initializer_range{"initializer_range", "",
                                       "standard deviation of initial weights; null: 0.02", config::optional,
                                       config::above(0)};
inline constexpr Key tie_word_embeddings{"tie_word_embeddings", "",
                                         "head and embedding share their weight; null: the family's"};
inline constexpr Key attention_bias{"attention_bias", "",
                                    "biases on the q, k, v and o projections; null: false"};
inline constexpr Key rope_theta{"rope_theta", "", "base of the rotary frequencies; null: the family's",
                                config::optional, config::above(1)};
inline constexpr Key rope_scaling{"rope_scaling", "", "RoPE settings as transformers 4 writes them"};
inline constexpr Key rope_parameters{"rope_parameters", "", "RoPE settings as transformers 5 writes them"};
inline constexpr Key pad_token_id{"pad_token_id", "", "token whose embedding gets no gradient",
                                  config::optional, config::at_least(0)};
inline constexpr Key bos_token_id{"bos_token_id", "", "first token of a text, for exports", config::optional,
                                  config::at_least(0)};
inline constexpr Key eos_token_id{"eos_token_id", "",
                                  "last token of a text, or a list, for exports and generation"};
inline constexpr Key qkv_bias{"qkv_bias", "", "biases on the q, k and v projections; null: true"};
inline constexpr Key rope_base{"rope_base", "", "the original's name of rope_theta", config::optional,
                               config::above(1)};
inline constexpr Key max_position_ids{"max_position_ids", "tokens",
                                      "the original's name of max_position_embeddings", config::optional,
                                      config::at_least(1)};
inline constexpr Key split_vocab_size{"split_vocab_size", "tokens",
                                      "the original's vocabulary in named parts, instead of vocab_size: each "
                                      "has tables of its own, model.embed_tokens.NAME and lm_head.NAME"};
inline constexpr Key split_vocab_order{"split_vocab_order", "", "the parts in the order of token ids"};
inline constexpr Key pipeline_num_virtual_layers_pre{
    "pipeline_num_virtual_layers_pre", "layers",
    "weight of the embedding where layers are dealt out to stages; null: 0", config::optional,
    config::at_least(0)};
inline constexpr Key pipeline_num_virtual_layers_post{
    "pipeline_num_virtual_layers_post", "layers",
    "weight of the head where layers are dealt out to stages; null: 0", config::optional,
    config::at_least(0)};
inline constexpr Key hidden_act{"hidden_act", "", "activation; only the family's"};
inline constexpr Key attention_dropout{"attention_dropout", "", "only 0"};
inline constexpr Key use_sliding_window{"use_sliding_window", "",
                                        "whether layers attend in a sliding window; null: false"};
inline constexpr Key sliding_window{"sliding_window", "tokens",
                                    "keys that a query sees, its own the last of them"};
inline constexpr Key max_window_layers{"max_window_layers", "layers",
                                       "which layers have the window, where layer_types does not say it"};
inline constexpr Key layer_types{"layer_types", "",
                                 "full_attention, sliding_attention or linear_attention for each layer"};
inline constexpr Key architectures{"architectures", "", "must name the model's causal language model"};
inline constexpr Key model_type{"model_type", "", "must be the provider's name"};
inline constexpr Key dtype{"dtype",
                           "",
                           "a key of config.json",
                           config::optional,
                           config::any_number(),
                           "`model_provider.dtype` is the type of the parameters"};
inline constexpr Key torch_dtype{
    "torch_dtype",          "",
    "a key of config.json", config::optional,
    config::any_number(),   "`model_provider.dtype` is the type of the parameters"};
inline constexpr Key use_cache{
    "use_cache", "", "a key of config.json", config::optional, config::any_number(), "training has no cache"};
inline constexpr Key transformers_version{"transformers_version", "",
                                          "a key of config.json", config::optional,
                                          config::any_number(),   "it is only a note"};

}  // namespace d9d::model_keys
