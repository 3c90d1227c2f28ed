#pragma once
// The built-in inference task `embedding`, for a model with `head: {kind: embedding}`: a row {"sample", "embedding":
// fp32 [D]} for each sample, the head's vector at the sample's last token. That is the token after the last one
// that has a label: the end of a text that is filled up, else the last token of the row. Of rows of several documents
// (data.samples: packed) a row for each document with two tokens at least: {"sample", "document", "embedding"}, counted
// in the batch's row from 0.

#include <memory>
#include <utility>

#include "runtime/task/inference_task.hpp"
#include "runtime/task/result/result_sink.hpp"

namespace d9d {

class EmbeddingInference final : public InferenceTask {
 public:
  explicit EmbeddingInference(std::shared_ptr<ResultSink> results) : results_(std::move(results)) {}
  ForwardInputs build_forward_inputs(const MicrobatchContext& context) const override;
  void process_outputs(const InferenceContext& context) override;
  void flush() override { results_->flush(); }
  void finalize() override { results_->flush(); }

 private:
  const std::shared_ptr<ResultSink> results_;
};

}  // namespace d9d
