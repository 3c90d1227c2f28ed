#pragma once
// A model in one stage whose forward pass is a whole generation: prompts in, new tokens out.
//   in       input_ids int64 [B, S]
//   shared   sample_numbers int64 [B], -1: a row of no sample; prompt_lengths int64 [B]: so many first tokens
//            of a row are its prompt
//   out      tokens int64 [B, N] on the host, -1 after the end of a text

#include <memory>
#include <optional>

#include "runtime/tensor/stage_module.hpp"
#include "runtime/text/generation.hpp"

namespace d9d {

class GeneratingModel final : public StageModule {
 public:
  // options.sequences follows from the batch.
  GeneratingModel(std::shared_ptr<StageModule> model, GenerateOptions options)
      : model_(std::move(model)), options_(std::move(options)) {}

  // All calls have batches of one shape.
  TensorMap forward(const TensorMap& inputs, const TensorMap& shared) override;
  std::vector<StageParameter> parameters() override { return model_->parameters(); }
  std::vector<StageBuffer> buffers() override { return model_->buffers(); }
  void set_training(bool training) override { model_->set_training(training); }

 private:
  std::shared_ptr<StageModule> model_;
  GenerateOptions options_;
  std::optional<Generator> generator_;
};

}  // namespace d9d
