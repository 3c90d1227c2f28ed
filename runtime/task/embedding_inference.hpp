#pragma once
// The built-in inference task `embedding`, for a model with `head: {kind: embedding}`: a line {"sample", "embedding":
// [D numbers]} for each sample, the head's vector at the sample's last token. That is the token after the last one
// that has a label: the end of a text that is filled up, else the last token of the row. Of rows of several documents
// (data.samples: packed) a line for each document with two tokens at least: {"sample", "document", "embedding"}, counted
// in the row from 0.

#include "runtime/task/inference_task.hpp"
#include "runtime/task/result_lines.hpp"

namespace d9d {

class EmbeddingInference final : public InferenceTask {
 public:
  explicit EmbeddingInference(const InferencePlace& place) : lines_(place.results, place.rank) {}
  ForwardInputs build_forward_inputs(const MicrobatchContext& context) const override;
  void process_outputs(const InferenceContext& context) override;
  void flush() override { lines_.flush(); }
  void finalize() override { lines_.flush(); }

 private:
  ResultLines lines_;
};

}  // namespace d9d
