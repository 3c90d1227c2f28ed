#pragma once
// One stage of several as a part of a generation. Each microbatch of prompts makes max_new_tokens passes through the
// stages, and the last stage's tokens are the first one's inputs of the next pass (InferenceTask::passes). Each stage
// keeps the cache of its own layers for every microbatch.
//   in       first pass, first stage: input_ids int64 [B, S]; later passes: `rows` int64 [R], the texts that go on,
//            and `tokens` int64 [R], the last token of each. Other stages: `rows`, and what the stage before made of
//            their new tokens, which is left out where no text goes on.
//   shared   as GeneratingModel; prompt_room int64 []: S; with a repetition penalty prompts int64 [B, S], the input_ids
//            of the first stage; and what the rank adds (inference_task.hpp): pass_number,
//            microbatch_number
//   out      as in of the next stage; of the last stage's last pass: tokens int64 [B, N], -1 after the end of a text,
//            and where the options ask for them log_probs fp32 [B, N] of these tokens, 0 after the end
// Integers of inputs and outputs are on the host, or known there; on a device the last stage waits once a pass, for
// the logits to choose from.

#include <map>
#include <memory>

#include "runtime/nn/size/layer_distribution.hpp"
#include "runtime/tensor/stage_module.hpp"
#include "runtime/text/generation.hpp"

namespace d9d {

class GeneratingPart final : public StageModule {
 public:
  // A stage that keeps nothing of earlier tokens computes them again (recomputed_stage.hpp).
  GeneratingPart(std::shared_ptr<StageModule> stage, StagePosition position, GenerateOptions options);
  ~GeneratingPart() override;

  // All calls have batches of one shape; the passes of a microbatch come in their order.
  TensorMap forward(const TensorMap& inputs, const TensorMap& shared) override;
  std::vector<StageParameter> parameters() override { return module_->parameters(); }
  std::vector<StageBuffer> buffers() override { return module_->buffers(); }
  void set_training(bool training) override { module_->set_training(training); }

 private:
  struct Batch;
  Batch& begin(std::int64_t microbatch, const TensorMap& shared);
  std::vector<std::int64_t> first_rows(const Batch& batch) const;
  TensorMap extend(Batch& batch, const TensorMap& inputs, const std::vector<std::int64_t>& rows,
                   std::int64_t pass);
  TensorMap choose(Batch& batch, const TensorMap& outputs, const std::vector<std::int64_t>& rows,
                   std::int64_t pass) const;

  const std::shared_ptr<StageModule> module_;
  const std::unique_ptr<GeneratingStage> recomputed_;
  GeneratingStage& stage_;
  const StagePosition position_;
  const GenerateOptions options_;
  std::map<std::int64_t, std::unique_ptr<Batch>> batches_;  // by microbatch
};

}  // namespace d9d
