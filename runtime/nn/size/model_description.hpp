#pragma once
// A causal language model of any family as planning, counting and checking see it: values that all families
// have, and questions that each family answers. Names are Hugging Face's. No torch.

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

// Losses on the routing of experts, in addition to the loss of the tokens (router_balance.hpp).
struct BalanceOptions {
  double weight = 0;    // of the load balancing loss; 0: no such loss
  double z_weight = 0;  // of the z-loss; 0: no such loss
  std::int64_t num_experts = 0;
  std::int64_t layers = 0;  // that have experts
  std::int64_t top_k = 1;   // experts of a token
};

// Of what attention multiplies for one head.
struct HeadWidths {
  std::int64_t keys = 0, values = 0;
};

struct ModelDescription {
  std::int64_t vocab_size = 0;
  // In the order of token ids; empty: one table for all words. No key of Hugging Face's.
  std::vector<VocabularyPart> vocabulary_parts;
  std::int64_t hidden_size = 0;
  std::int64_t num_hidden_layers = 0;
  std::int64_t prediction_depths = 0;  // modules after these layers (multi_token_prediction.hpp)
  double prediction_loss_factor = 0;   // of their loss
  std::int64_t max_position_embeddings = 0;
  double rms_norm_eps = 1e-6;
  double initializer_range = 0.02;   // standard deviation of initial weights
  bool zero_centered_norms = false;  // their weights are stored minus 1
  NormKind norm_kind = NormKind::root_mean_square;
  bool norms_embeddings = false;           // by a norm embed_norm, before the first layer
  double embedding_scale = 1;              // multiplies the embedding's output
  double logit_softcap = 0;                // logits x are softcap * tanh(x / softcap); 0: x
  HeadTransform head_transform;            // of the hidden states that the language model head reads
  bool logit_bias = false;                 // of each word, added to its logit: lm_head.bias
  std::optional<RopeOptions> window_rope;  // of layers with a window, when it differs from the others'
  bool causal = true;                      // else tokens see those after them, too
  bool tie_word_embeddings = false;
  std::string dtype = "float32";  // float32, bfloat16 or float16: the dtype that the folder suggests
  std::optional<std::int64_t> pad_token_id;  // its embedding row gets no gradient from the embedding
  std::optional<std::int64_t> bos_token_id;
  std::vector<std::int64_t> eos_token_ids;

  // PIPE-02: the weight of embedding and head in the distribution of layers over stages, in layers.
  std::int64_t pipeline_num_virtual_layers_pre = 0;
  std::int64_t pipeline_num_virtual_layers_post = 0;

  // Chosen by the job. `heads` empty: one causal language model head.
  HeadMap heads;
  HiddenStateSummary hidden_states = HiddenStateSummary::no;

  virtual ~ModelDescription() = default;

  // Whether some head predicts tokens. Its matrix is lm_head, or the embedding's if they are tied.
  bool has_language_model_head() const;
  bool ties_head() const { return tie_word_embeddings && has_language_model_head(); }
  // Whether the last stage has the embedding, too: for a head that is tied to
  // it, or to predict further tokens.
  bool embeds_on_last_stage() const { return ties_head() || prediction_depths > 0; }
  std::int64_t num_all_layers() const { return num_hidden_layers + prediction_depths; }
  // Counts the parameters that belong to heads alone: lm_head unless it is tied, and other kinds of heads.
  std::int64_t head_parameters(int ranks = 1) const;

  virtual AttentionOptions attention() const = 0;
  virtual HeadWidths head_widths() const { return {attention().head_dim, attention().value_head_dim}; }
  // The number of experts of a sparse layer; 0 for a dense model.
  virtual std::int64_t experts_per_layer() const { return 0; }
  // Whether a chosen expert counts as much whatever the router says, so that no gradient of the loss reaches routers.
  virtual bool fixes_expert_weights() const { return false; }
  virtual BalanceOptions balance() const { return {}; }
  // The costs of a decoder layer with its norms, on the first rank of tensor parallelism over `ranks`.
  virtual BlockCosts layer(std::int64_t index, int ranks = 1) const = 0;
  // Input error when tensor parallelism cannot split the model over `ranks`.
  virtual void require_tensor_parallel(int ranks) const = 0;
  // Input error when the model cannot share a sequence between so many ranks.
  virtual void require_context_parallel(int /*ranks*/) const {}

  bool operator==(const ModelDescription&) const = default;
};

// Input error that names the first impossible value of those above. Its text begins with `where`.
void validate_common(const ModelDescription& model, const std::string& where);

}  // namespace d9d
