#pragma once
// A Qwen3 causal language model, dense or mixture of experts. Defaults are those of transformers 5.23
// (Qwen3Config, Qwen3MoeConfig). No torch.

#include "runtime/family/sparse_decoder.hpp"

namespace d9d {

enum class Qwen3Kind { dense, moe };

struct Qwen3Config final : SparseDecoder {
  explicit Qwen3Config(Qwen3Kind kind = Qwen3Kind::dense);

  Qwen3Kind kind;
  bool attention_bias = false;  // biases on q, k, v and o projections

  bool is_sparse_layer(std::int64_t layer) const override;
  AttentionOptions attention() const override;
  std::int64_t experts_per_layer() const override { return kind == Qwen3Kind::moe ? num_experts : 0; }
  std::vector<std::string> tensors_outside_mlp(std::int64_t layer) const override;
  void validate(const std::string& where) const override;
  const ModelKeys& keys() const override;
  bool peft_takes_projections() const override { return kind == Qwen3Kind::moe; }

  bool operator==(const Qwen3Config&) const = default;
};

}  // namespace d9d
