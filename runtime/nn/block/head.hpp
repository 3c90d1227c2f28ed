#pragma once
// The last block of a model: turns normed hidden states into the outputs of the last stage.

#include <memory>
#include <vector>

#include "runtime/nn/block/head_options.hpp"
#include "runtime/nn/block/leaf.hpp"
#include "runtime/nn/shard/tensor_parallel.hpp"
#include "runtime/nn/shard/vocabulary.hpp"
#include "runtime/tensor/tensor_map.hpp"

namespace d9d {

class Head {
 public:
  virtual ~Head() = default;
  // Normed hidden states [B, S, H] and the model's shared inputs -> the stage's outputs.
  virtual TensorMap forward(const at::Tensor& normed, const TensorMap& shared) const = 0;
  // The weights that the head reads, including those that another module owns.
  virtual std::vector<at::Tensor> weights() const = 0;
  // The parameters that it reads beside them: biases, and those of its HeadTransform.
  virtual std::vector<at::Tensor> inner_parameters() const { return {}; }
  // Makes the head tensor-parallel over the vocabulary. Afterwards hidden states hold this rank's tokens; the
  // outputs still cover all tokens and are the same on every rank.
  virtual void shard(TensorParallel& tensor, const ActivationShards& tokens,
                     std::shared_ptr<const VocabularyShards> vocabulary) = 0;
};

// norm(gelu(dense x)) of each token (HeadTransform).
class TransformedHidden final : public torch::nn::Module {
 public:
  TransformedHidden(ParameterMaker& make, std::int64_t width, double eps, NormKind kind, bool bias);
  at::Tensor forward(const at::Tensor& x) const;

 private:
  std::shared_ptr<Linear> dense_;
  std::shared_ptr<RmsNorm> norm_;
};

// With the shared input labels (int64 [B, S], shifted, -100 = ignored) the output is
// cross_entropy, fp32 [B, S]. Without labels it is logits [B, S, V], or [B, N, V] for the sequence
// positions in logit_positions, int64 [N].
class LanguageModelHead final : public Head {
 public:
  // `projections`: one for each table of the vocabulary, in order. `tied`: their weights are the tables of
  // the embedding, which also shards them. With a softcap c logits x become c tanh(x / c) (Gemma 2, arXiv
  // 2408.00118, section 2), and the loss then holds all logits in memory.
  // `transform`: before the projection; null: none. A projection that is alone may have a bias.
  LanguageModelHead(std::vector<std::shared_ptr<Linear>> projections, bool tied, double softcap = 0,
                    std::shared_ptr<TransformedHidden> transform = nullptr)
      : projections_(std::move(projections)),
        tied_(tied),
        softcap_(softcap),
        transform_(std::move(transform)) {}

  TensorMap forward(const at::Tensor& normed, const TensorMap& shared) const override;
  std::vector<at::Tensor> weights() const override;
  std::vector<at::Tensor> inner_parameters() const override;
  void shard(TensorParallel& tensor, const ActivationShards& tokens,
             std::shared_ptr<const VocabularyShards> vocabulary) override;

 private:
  at::Tensor logits(const at::Tensor& normed, const TensorMap& shared) const;
  at::Tensor loss(const at::Tensor& normed, const at::Tensor& labels) const;

  std::vector<std::shared_ptr<Linear>> projections_;
  bool tied_;
  double softcap_;                                // 0: none
  std::shared_ptr<TransformedHidden> transform_;  // may be null
  ActivationShards tokens_;
  std::shared_ptr<const VocabularyShards> vocabulary_;  // null: this rank has the whole vocabulary
};

}  // namespace d9d
