#pragma once
// The sizes of blocks, and the checks that tensor parallelism needs. No torch.

#include <cstdint>
#include <optional>

namespace d9d {

// How scores depend on the distance of tokens, beside RoPE (attention/attention_bias.hpp). alibi: a head's slope times
// the distance; buckets: learned, as in T5.
enum class PositionBias { none, alibi, buckets };

struct AttentionOptions {
  std::int64_t hidden_size = 0;
  std::int64_t num_heads = 0;  // of queries; a multiple of num_kv_heads
  std::int64_t num_kv_heads = 0;
  std::int64_t head_dim = 0;        // of queries and keys; even
  std::int64_t value_head_dim = 0;  // of values
  double norm_eps = 0;
  double scale = 0;                 // of the scores; 0: head_dim^-1/2
  bool qk_norm = false;             // RMS norm of each query and key head before rotary embedding
  bool zero_centered_norm = false;  // the norm's weight is stored minus 1
  std::int64_t rotary_dim = 0;      // leading dimensions of a head that RoPE turns; even; 0: all
  bool interleaved = false;         // RoPE turns pairs (2i, 2i + 1) instead of (i, i + turning_dim() / 2)
  // The query projection has a gate after each head. The attention's output is multiplied with its sigmoid.
  bool output_gate = false;
  bool causal = true;       // else a token sees those after it, too
  std::int64_t window = 0;  // as in AttentionRule (attention_core.hpp)
  bool qkv_bias = false;
  bool output_bias = false;
  bool sinks = false;  // each query head has a learned logit that takes mass in its softmax: parameter sinks
  bool rotary = true;  // else no RoPE turns queries and keys
  PositionBias position_bias = PositionBias::none;
  std::int64_t bias_buckets = 32;   // of all distances; in both directions half of them for later keys
  std::int64_t bias_longest = 128;  // distances from here on share the last bucket

  std::int64_t turning_dim() const { return rotary_dim > 0 ? rotary_dim : head_dim; }
};

// The activation of a feed-forward block. gelu is its tanh approximation, gelu_erf the function itself.
enum class Activation { silu, gelu, gelu_erf };

// root_mean_square: kernels::rms_norm; layer: kernels::layer_norm.
enum class NormKind { root_mean_square, layer };

// A feed-forward block of three linears (SwiGlu in feed_forward.hpp).
struct SwiGluOptions {
  std::int64_t hidden_size = 0;
  std::int64_t intermediate_size = 0;
  Activation activation = Activation::silu;
  bool bias = false;  // on all three
};

// How a delta net's head forgets (kernels/attention/delta_gates.hpp). mamba has two parameters for each head,
// logsigmoid none.
enum class DecayGate { mamba, logsigmoid };

// A gated delta net (gated_delta_net.hpp).
struct DeltaNetOptions {
  std::int64_t hidden_size = 0;
  std::int64_t num_key_heads = 0;    // of queries and of keys
  std::int64_t num_value_heads = 0;  // a multiple of num_key_heads
  std::int64_t key_head_dim = 0;
  std::int64_t value_head_dim = 0;
  std::int64_t taps = 0;  // tokens that the short convolution reads
  double norm_eps = 0;
  DecayGate gate = DecayGate::mamba;
  double gate_normalizer = 16;  // logsigmoid is divided by it

  std::int64_t keys() const { return num_key_heads * key_head_dim; }
  std::int64_t values() const { return num_value_heads * value_head_dim; }
};
// The number of tokens whose states a delta net computes at once.
inline constexpr std::int64_t delta_chunk = 64;

// Experts as gpt-oss has them (kernels/activation.hpp, clamped_swiglu). They and their router have biases.
struct ClampedSwiGlu {
  double alpha = 1.702;
  double limit = 7;
};

struct MoeOptions {
  std::int64_t hidden_size = 0;
  std::int64_t intermediate_size = 0;  // of one expert
  std::int64_t num_experts = 0;
  std::int64_t top_k = 0;
  bool renormalise = false;                   // divide the chosen probabilities by their sum
  std::int64_t shared_intermediate_size = 0;  // of the expert that all tokens visit; 0: there is none
  bool router_sums = false;                   // keep the sums that losses on the routing need
  bool sigmoid_scores = false;   // scores are sigmoids of the router's logits, else their softmax
  std::int64_t groups = 1;       // of experts
  std::int64_t kept_groups = 1;  // a token chooses in the groups of best top-2 score sums
  double score_factor = 1;       // multiplies the chosen scores
  bool selection_bias = false;   // experts are chosen by score + bias
  double bias_rate = 0;          // each update moves the bias by this; 0: it stays
  bool shared_gate = true;       // the shared expert's output is gated
  std::optional<ClampedSwiGlu> clamped = {};  // none: plain SwiGLU without biases
};

// Causal attention over latents (DeepSeek-V2, arXiv 2405.04434, section 2.1). A head of queries or keys has
// a part without positions and a part with RoPE. All heads of keys share the same part with RoPE.
struct LatentAttentionOptions {
  std::int64_t hidden_size = 0;
  std::int64_t num_heads = 0;
  std::int64_t query_rank = 0;  // width of the queries' latent; 0: they have none
  std::int64_t key_rank = 0;    // width of the latent of keys and values
  std::int64_t plain_dim = 0;   // width of a head's part without positions
  std::int64_t rotary_dim = 0;  // width of a head's part with RoPE; even
  std::int64_t value_dim = 0;   // of a head's value; at most plain_dim + rotary_dim
  double scale = 1;             // of the scores
  bool interleaved = false;     // RoPE turns pairs (2i, 2i + 1) instead of (i, i + rotary_dim / 2)
  bool bias = false;            // on the projections to the latents, and on the output's

  std::int64_t head_dim() const { return plain_dim + rotary_dim; }
};

// Input error when `ranks` does not divide the query heads, or when it neither divides the number of
// key heads nor is a multiple of it.
void require_divisible_heads(const AttentionOptions& options, int ranks);
// Input error when `ranks` does not divide the heads.
void require_divisible_heads(const LatentAttentionOptions& options, int ranks);
// Input error when `ranks` does not divide the key heads.
void require_divisible_heads(const DeltaNetOptions& options, int ranks);
// Input error when a dense layer has fewer columns than there are ranks.
void require_divisible_width(std::int64_t intermediate_size, int ranks);
// Input error when there are fewer words than ranks.
void require_divisible_vocabulary(std::int64_t vocab_size, int ranks);

}  // namespace d9d
