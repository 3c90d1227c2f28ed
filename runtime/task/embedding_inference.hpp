#pragma once
// The built-in inference task `embedding`, for a model with `head: {kind: embedding}`: a line {"sample", "embedding":
// [D numbers]} for each sample, the head's vector at the sample's last token. That is the token after the last one
// that has a label: the end of a text that is filled up, else the last token of the row. Of rows of several documents
// (data.samples: packed) a line for each document with two tokens at least: {"sample", "document", "embedding"}, counted
// in the row from 0. With `results: safetensors` the same as tensors (result_tensors.hpp).

#include "runtime/task/inference_task.hpp"
#include "runtime/task/result_lines.hpp"
#include "runtime/task/result_tensors.hpp"
#include "runtime/task/task_config.hpp"

namespace d9d {

class EmbeddingInference final : public InferenceTask {
 public:
  explicit EmbeddingInference(const InferencePlace& place, VectorFormat format = VectorFormat::jsonl)
      : format_(format), lines_(place.results, place.rank), tensors_(place.results, place.rank) {}
  ForwardInputs build_forward_inputs(const MicrobatchContext& context) const override;
  void process_outputs(const InferenceContext& context) override;
  void flush() override;
  void finalize() override { flush(); }

 private:
  void add(std::int64_t sample, std::optional<std::int64_t> document, std::span<const float> vector);

  const VectorFormat format_;
  ResultLines lines_;  // of one format, the other stays empty
  ResultTensors tensors_;
};

}  // namespace d9d
