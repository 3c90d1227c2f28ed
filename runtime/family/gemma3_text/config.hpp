#pragma once
// The text model of Gemma 3 (arXiv 2503.19786, section 2): scaled embeddings, four zero-centred norms per layer,
// norms of queries and keys, GeGLU, windows in most layers, which turn by a RoPE of their own. Defaults
// are those of transformers 5.23 (Gemma3TextConfig). No torch.

#include "runtime/family/dense_decoder.hpp"

namespace d9d {

struct Gemma3TextConfig final : DenseDecoder {
  Gemma3TextConfig();

  double query_pre_attn_scalar = 256;  // its inverse root is the scale of the scores
  bool attention_bias = false;         // on all four projections
  // As is_causal false, but half of a window reaches to either side.
  bool use_bidirectional_attention = false;

  AttentionOptions attention() const override;
  SwiGluOptions feed_forward() const override;
  AttentionOptions attention_of(std::int64_t layer) const override;
  BlockCosts layer(std::int64_t index, int ranks = 1) const override;
  std::shared_ptr<DecoderLayer> make_layer(ParameterMaker& make, torch::nn::Module& layers,
                                           std::int64_t index) const override;
  const ModelKeys& keys() const override;
  void settle() override;
  void validate(const std::string& where) const override;
  std::shared_ptr<const StateMapper> from_hugging_face(const std::set<std::string>& stored) const override;
  std::shared_ptr<const StateMapper> to_hugging_face() const override;

  bool operator==(const Gemma3TextConfig&) const = default;
};

}  // namespace d9d
