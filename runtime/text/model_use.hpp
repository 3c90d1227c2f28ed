#pragma once
// A model used without training: per-token losses of given tokens, and text. Computes on the calling thread, where
// the model is; tokens, losses and logits are on the host.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "runtime/provider/hugging_face_model.hpp"
#include "runtime/tensor/tensor_map.hpp"
#include "runtime/text/generation.hpp"

namespace d9d {

class InferenceTask;

// An inference task without a job: each batch through the whole model, the outputs to the task, which is flushed at the
// end. A batch is what a source makes, with `sample_numbers` int64 [B].
void infer(const LoadedModel& model, InferenceTask& task, const std::vector<TensorMap>& batches);

struct ScoreOptions {
  bool with_logits = false;
  std::int64_t tokens_per_batch = 4096;  // bounds memory; one sequence is never cut
};
struct Scores {
  at::Tensor token_loss;     // fp32 [N, L], 0 where the label is -100
  double loss = 0;           // mean over the others; not a number when there are none
  std::int64_t counted = 0;  // the others
  at::Tensor logits;         // fp32 [N, L, V] when asked for
};
// By the inference task `causal_lm`. tokens int64 [N, L]; labels int64 [N, L] already shifted, by default the next
// token and -100 for the last one. Input error for an id outside the vocabulary and for a sequence longer than the
// model has positions.
Scores score_tokens(const LoadedModel& model, const at::Tensor& tokens,
                    const std::optional<at::Tensor>& labels = {}, const ScoreOptions& options = {});

// The new tokens of each prompt; a text ends after one of the config's eos_token_ids as well. What is drawn
// for a prompt depends on its place among them. Input error when a prompt and its new tokens together are
// more than the model has positions for.
std::vector<std::vector<std::int64_t>> generate(const LoadedModel& model,
                                                const std::vector<std::vector<std::int64_t>>& prompts,
                                                GenerateOptions options = {});

}  // namespace d9d
