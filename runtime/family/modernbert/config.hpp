#pragma once
// ModernBERT (Warner et al. 2024, arXiv 2412.13663, section 2.1): an encoder, whose tokens see those on both sides.
// Layer norms without biases, one of them after the embedding in the place of the first layer's; GeGLU; two of three
// layers have a window and turn by a RoPE of their own; words are predicted of norm(gelu(dense x)), with a bias for
// each. Defaults are those of transformers 5.23 (ModernBertConfig). No torch.

#include <string>

#include "runtime/family/dense_decoder.hpp"

namespace d9d {

struct ModernBertConfig final : DenseDecoder {
  ModernBertConfig();

  std::int64_t local_attention = 128;  // half of it reaches to either side
  bool attention_bias = false;         // on all four projections
  bool mlp_bias = false;
  std::string classifier_pooling = "cls";  // of transformers' classifiers: cls or mean

  AttentionOptions attention() const override;
  SwiGluOptions feed_forward() const override;
  BlockCosts layer(std::int64_t index, int ranks = 1) const override;
  std::shared_ptr<DecoderLayer> make_layer(ParameterMaker& make, torch::nn::Module& layers,
                                           std::int64_t index) const override;
  const ModelKeys& keys() const override;
  void settle() override;
  void validate(const std::string& where) const override;
  std::shared_ptr<const StateMapper> from_hugging_face(const std::set<std::string>& stored) const override;
  std::shared_ptr<const StateMapper> to_hugging_face() const override;
  std::vector<std::string> unread_tensors(const std::set<std::string>& stored) const override;
  std::string head_in_folder(const std::string& parameter) const override;

  bool operator==(const ModernBertConfig&) const = default;
};

}  // namespace d9d
