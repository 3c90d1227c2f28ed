#pragma once
// The built-in inference tasks. Each writes rows that name their sample (result_sink.hpp).

#include <memory>
#include <utility>

#include "runtime/task/inference_task.hpp"
#include "runtime/task/result/result_sink.hpp"

namespace d9d {

class WritingInference : public InferenceTask {
 public:
  explicit WritingInference(std::shared_ptr<ResultSink> results) : results_(std::move(results)) {}
  void flush() override { results_->flush(); }
  void finalize() override { results_->flush(); }

 protected:
  const std::shared_ptr<ResultSink> results_;
};

// Columns beside those that a job gets.
struct CausalLmColumns {
  bool token_losses = false;  // "token_loss": fp32 [rows, S], 0 where the label is -100
  bool logits = false;        // "logits": fp32 [rows, S, V], for ResultTensors alone
};

// `causal_lm`: "loss", fp64: the mean cross entropy of the sample's tokens that count, not a number where none does;
// "tokens": how many count. The exponential of a loss is the sample's perplexity. With context parallelism a row for
// each rank's share of the tokens.
class CausalLmInference final : public WritingInference {
 public:
  explicit CausalLmInference(std::shared_ptr<ResultSink> results, CausalLmColumns more = {})
      : WritingInference(std::move(results)), more_(more) {}
  ForwardInputs build_forward_inputs(const MicrobatchContext& context) const override;
  void process_outputs(const InferenceContext& context) override;

 private:
  const CausalLmColumns more_;
};

// `classification`: "position", "class" and "probability" (fp32) for each token whose label is not -100: where in the
// sample it stands (also where ranks share samples), the class with the largest logit, and its softmax.
class ClassificationInference final : public WritingInference {
 public:
  using WritingInference::WritingInference;
  ForwardInputs build_forward_inputs(const MicrobatchContext& context) const override;
  void process_outputs(const InferenceContext& context) override;
};

// `embedding`, for a model with `head: {kind: embedding}`: a row {"sample", "embedding": fp32 [D]} for each sample, the
// head's vector at the sample's last token, the last that token_mask says to be one. Of rows of several documents
// (data.samples: packed) a row for each document: {"sample", "document", "embedding"}, counted in the batch's row from
// 0. A sample without tokens has no row.
// With `first` it is each sample's or document's first token instead.
class EmbeddingInference final : public WritingInference {
 public:
  explicit EmbeddingInference(std::shared_ptr<ResultSink> results, bool first = false)
      : WritingInference(std::move(results)), first_(first) {}
  ForwardInputs build_forward_inputs(const MicrobatchContext& context) const override;
  void process_outputs(const InferenceContext& context) override;

 private:
  const bool first_;
};

}  // namespace d9d
