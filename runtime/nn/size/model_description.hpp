#pragma once
// What planning, counting and checking need to know of a causal language model of whatever family: the values
// that all have, and the questions that each family answers for itself. Names are Hugging Face's. No torch.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/nn/block/block_costs.hpp"
#include "runtime/nn/block/block_options.hpp"
#include "runtime/nn/block/head_options.hpp"
#include "runtime/nn/block/rope_options.hpp"
#include "runtime/nn/block/vocabulary_part.hpp"

namespace d9d {

// Losses on the routing of experts beside that of the tokens (router_balance.hpp).
struct BalanceOptions {
  double weight = 0;    // of the loss on their balance; 0: there is none
  double z_weight = 0;  // of the z-loss; 0: there is none
  std::int64_t num_experts = 0;
  std::int64_t layers = 0;  // that have experts
  std::int64_t top_k = 1;   // experts of a token
};

struct ModelDescription {
  std::int64_t vocab_size = 0;
  // In the order of token ids; empty: one table for all words. Not of Hugging Face's models.
  std::vector<VocabularyPart> vocabulary_parts;
  std::int64_t hidden_size = 0;
  std::int64_t num_hidden_layers = 0;
  std::int64_t prediction_depths = 0;  // modules behind these layers (multi_token_prediction.hpp)
  double prediction_loss_factor = 0;   // of their loss
  std::int64_t max_position_embeddings = 0;
  double rms_norm_eps = 1e-6;
  double initializer_range = 0.02;         // standard deviation of initial weights
  bool zero_centered_norms = false;        // their weights are stored less 1
  double embedding_scale = 1;              // of the hidden states that token ids become
  double logit_softcap = 0;                // logits x are softcap * tanh(x / softcap); 0: x
  std::optional<RopeOptions> window_rope;  // of layers with a window that turn otherwise than the others
  bool tie_word_embeddings = false;
  std::string dtype = "float32";  // float32, bfloat16 or float16: what the file's weights are meant to run in
  std::optional<std::int64_t> pad_token_id;  // its embedding row gets no gradient from the embedding
  std::optional<std::int64_t> bos_token_id;
  std::vector<std::int64_t> eos_token_ids;

  // PIPE-02: the weight of embedding and head in the distribution of layers over stages, in layers.
  std::int64_t pipeline_num_virtual_layers_pre = 0;
  std::int64_t pipeline_num_virtual_layers_post = 0;

  // What the job asks of the model: empty means one causal language model head.
  HeadMap heads;
  HiddenStateSummary hidden_states = HiddenStateSummary::no;

  virtual ~ModelDescription() = default;

  // Some head predicts tokens: then there is a matrix lm_head, or the embedding's if they are tied.
  bool has_language_model_head() const;
  bool ties_head() const { return tie_word_embeddings && has_language_model_head(); }
  // The last stage embeds tokens, too: for a head that is tied to the embedding, or to predict further ones.
  bool embeds_on_last_stage() const { return ties_head() || prediction_depths > 0; }
  std::int64_t num_all_layers() const { return num_hidden_layers + prediction_depths; }
  // Of the matrices that only heads have: lm_head unless it is tied, and those of the other kinds.
  std::int64_t head_parameters(int ranks = 1) const;

  virtual AttentionOptions attention() const = 0;
  // Experts of a layer that has some; 0 for a dense model.
  virtual std::int64_t experts_per_layer() const { return 0; }
  virtual BalanceOptions balance() const { return {}; }
  // Of a decoder layer, with its norms; with `ranks`, of the first rank of tensor parallelism.
  virtual BlockCosts layer(std::int64_t index, int ranks = 1) const = 0;
  // Input error where tensor parallelism over so many ranks cannot share the model.
  virtual void require_tensor_parallel(int ranks) const = 0;
  // Input error where the tokens of a sequence cannot be on so many ranks.
  virtual void require_context_parallel(int /*ranks*/) const {}

  bool operator==(const ModelDescription&) const = default;
};

// Input error that names the first impossible one of the values above; `where` leads the text.
void validate_common(const ModelDescription& model, const std::string& where);

}  // namespace d9d
