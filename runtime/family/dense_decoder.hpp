#pragma once
// What families of dense decoders share: grouped-query attention, SwiGLU, tensors with the same names and
// shapes in a Hugging Face folder and here. A family adds its defaults, its keys and its biases. No torch.

#include "runtime/family/family_model.hpp"

namespace torch::nn {
class Module;
}

namespace d9d {

class Attention;
class DecoderLayer;
class FeedForward;
class ParameterMaker;

struct DenseDecoder : FamilyModel {
  std::int64_t intermediate_size = 0;
  std::int64_t num_attention_heads = 0;
  std::int64_t num_key_value_heads = 0;
  std::int64_t head_dim = 0;

  // Without biases; a family that has some says so.
  AttentionOptions attention() const override;
  virtual SwiGluOptions feed_forward() const;
  BlockCosts layer(std::int64_t index, int ranks = 1) const override;
  void require_tensor_parallel(int ranks) const override;
  std::shared_ptr<const StateMapper> from_hugging_face(const std::set<std::string>& stored) const override;
  std::shared_ptr<const StateMapper> to_hugging_face() const override;
  void validate(const std::string& where) const override;
  // A CausalLm of the layers that make_layer() makes.
  std::unique_ptr<StageModule> build_stage(StagePosition position,
                                           const BuildOptions& options) const override;
  // The child `index` of `layers`: norm, attention, norm, feed-forward, unless the family has another.
  virtual std::shared_ptr<DecoderLayer> make_layer(ParameterMaker& make, torch::nn::Module& layers,
                                                   std::int64_t index) const;
  // The blocks of layer `index`, as its children: grouped-query attention self_attn and SwiGLU mlp, unless the
  // family has others.
  virtual std::shared_ptr<Attention> make_attention(ParameterMaker& make, torch::nn::Module& layer,
                                                    std::int64_t index) const;
  virtual std::shared_ptr<FeedForward> make_feed_forward(ParameterMaker& make, torch::nn::Module& layer,
                                                         std::int64_t index) const;

  bool operator==(const DenseDecoder&) const = default;
};

// The tensors of a layer outside of its feed-forward block, and those of a dense one, as a folder names them.
std::vector<std::string> tensors_outside_feed_forward(const AttentionOptions& attention);
std::vector<std::string> tensors_of_dense_feed_forward(const SwiGluOptions& feed_forward);

}  // namespace d9d
