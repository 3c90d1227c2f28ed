#pragma once
// What families of dense decoders share: grouped-query attention, SwiGLU, tensors with the same names and
// shapes in a Hugging Face folder and here. A family adds its defaults, its biases and its layer. No torch.

#include "runtime/family/family_model.hpp"

namespace d9d {

class JsonReader;

struct DenseDecoder : FamilyModel {
  std::int64_t intermediate_size = 0;
  std::int64_t num_attention_heads = 0;
  std::int64_t num_key_value_heads = 0;
  std::int64_t head_dim = 0;

  // Without biases; a family that has some says so.
  AttentionOptions attention() const override;
  BlockCosts layer(std::int64_t index, int ranks = 1) const override;
  void require_tensor_parallel(int ranks) const override;
  std::shared_ptr<const StateMapper> from_hugging_face(const std::set<std::string>& stored) const override;
  std::shared_ptr<const StateMapper> to_hugging_face() const override;

  bool operator==(const DenseDecoder&) const = default;
};

// The tensors of a layer outside of its feed-forward block, and those of a dense one, as a folder names them.
std::vector<std::string> tensors_outside_feed_forward(const AttentionOptions& attention);
std::vector<std::string> tensors_of_dense_feed_forward();
// The sizes, where absent those that `model` has. Without num_key_value_heads there are as many as query
// heads where `model` has none, without head_dim the query heads share hidden_size.
void read_sizes(const JsonReader& in, DenseDecoder& model);
// Input error that names the first impossible value; `where` leads the text.
void validate(const DenseDecoder& model, const std::string& where);

}  // namespace d9d
