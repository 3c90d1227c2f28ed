#pragma once
// Heads for other tasks than the next token. They read the normed hidden states of the tokens that the
// shared input pooling_mask [B, S] selects by the value 1: N tokens in the order of the batch, usually the
// last one of each sequence. Without the mask they read every token, and results are [B, S, ..].

#include "runtime/nn/block/head.hpp"
#include "runtime/nn/block/head_options.hpp"

namespace d9d {

// The common part of both kinds: selects the tokens. Each of the ranks that share sequences computes its own
// tokens, with weights that all of them hold, and all get the results of all.
class PooledHead : public Head {
 public:
  TensorMap forward(const at::Tensor& normed, const TensorMap& shared) const final;
  void shard(TensorParallel& tensor, const ActivationShards& tokens,
             std::shared_ptr<const VocabularyShards> vocabulary) final;

 protected:
  explicit PooledHead(std::string output) : output_(std::move(output)) {}
  // Hidden states [.., H] -> fp32 (fp64 of fp64) [.., D]. Must treat each token by itself.
  virtual at::Tensor compute(const at::Tensor& hidden) const = 0;

 private:
  const std::string output_;  // its name
  ActivationShards tokens_;
};

// Dropout of a head's input while its module trains.
struct HeadDropout : torch::nn::Module {
  HeadDropout(ParameterMaker& make, double p, std::string name);
  at::Tensor forward(const at::Tensor& x) const;

  double p;
  std::string name;  // of the noise
};

// logits = weight dropout(x): [N, labels]. Parameter score.weight [labels, H]. With a transform: of the transformed x,
// and with score.bias [labels].
class ClassifyingHead final : public PooledHead {
 public:
  // `owner` is the module of the scope of `make`; `name` the head's.
  ClassifyingHead(ParameterMaker& make, torch::nn::Module& owner, const ClassificationHead& options,
                  std::int64_t hidden_size, const std::string& name,
                  std::shared_ptr<TransformedHidden> transform = nullptr);
  std::vector<at::Tensor> weights() const override { return {score_->weight}; }
  std::vector<at::Tensor> inner_parameters() const override;

 protected:
  at::Tensor compute(const at::Tensor& hidden) const override;

 private:
  std::shared_ptr<TransformedHidden> transform_;  // may be null
  std::shared_ptr<HeadDropout> dropout_;
  std::shared_ptr<Linear> score_;
};

// embeddings = x, or projection x where embedding_dim is given: [N, D]. With `normalize` each is divided by
// its length, which counts as at least 1e-12. Parameter projection.weight [D, H].
class EmbeddingVectorHead final : public PooledHead {
 public:
  EmbeddingVectorHead(ParameterMaker& make, torch::nn::Module& owner, const EmbeddingHead& options,
                      std::int64_t hidden_size);
  std::vector<at::Tensor> weights() const override;

 protected:
  at::Tensor compute(const at::Tensor& hidden) const override;

 private:
  std::shared_ptr<Linear> projection_;  // may be null
  bool normalize_;
};

// Several heads on one hidden state; their outputs are called NAME.OUTPUT.
class NamedHeads final : public Head {
 public:
  explicit NamedHeads(std::map<std::string, std::unique_ptr<Head>> heads) : heads_(std::move(heads)) {}

  TensorMap forward(const at::Tensor& normed, const TensorMap& shared) const override;
  std::vector<at::Tensor> weights() const override;
  std::vector<at::Tensor> inner_parameters() const override;
  void shard(TensorParallel& tensor, const ActivationShards& tokens,
             std::shared_ptr<const VocabularyShards> vocabulary) override;

 private:
  std::map<std::string, std::unique_ptr<Head>> heads_;
};

}  // namespace d9d
