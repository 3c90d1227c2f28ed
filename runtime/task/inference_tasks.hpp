#pragma once
// The built-in inference tasks. Each writes a line for each sample into the job's results (result_lines.hpp).

#include "runtime/task/inference_task.hpp"
#include "runtime/task/result_lines.hpp"

namespace d9d {

// `causal_lm`: {"sample", "loss", "tokens"}: the mean cross entropy of the sample's tokens that count, null where none
// does, and their number. With context parallelism a line for each rank's share of the tokens.
class CausalLmInference final : public InferenceTask {
 public:
  explicit CausalLmInference(const InferencePlace& place) : lines_(place.results, place.rank) {}
  ForwardInputs build_forward_inputs(const MicrobatchContext& context) const override;
  void process_outputs(const InferenceContext& context) override;
  void flush() override { lines_.flush(); }
  void finalize() override { lines_.flush(); }

 private:
  ResultLines lines_;
};

// `classification`: {"sample", "position", "class", "probability"} for each token whose label is not -100: where it
// stands, the class with the largest logit, and its softmax.
class ClassificationInference final : public InferenceTask {
 public:
  explicit ClassificationInference(const InferencePlace& place) : lines_(place.results, place.rank) {}
  ForwardInputs build_forward_inputs(const MicrobatchContext& context) const override;
  void process_outputs(const InferenceContext& context) override;
  void flush() override { lines_.flush(); }
  void finalize() override { lines_.flush(); }

 private:
  ResultLines lines_;
};

}  // namespace d9d
