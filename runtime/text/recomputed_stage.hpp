#pragma once
// A stage of a model without a cache, as one that can generate: what it was given of each sequence is kept, and a new
// token computes the whole sequence again. Right for every causal model; its time grows with the square of the length.
// Inputs and outputs have the tokens in dimension 1. Not for ranks that share the tokens between layers
// (tensor_parallel), where a stage sees only a part of each sequence.

#include <memory>

#include "runtime/nn/model/generating_stage.hpp"
#include "runtime/tensor/stage_module.hpp"

namespace d9d {

class RecomputedStage final : public GeneratingStage {
 public:
  explicit RecomputedStage(std::shared_ptr<StageModule> stage) : stage_(std::move(stage)) {}
  std::unique_ptr<StageCache> make_cache(const CacheSize& size) const override;
  TensorMap extend(const TensorMap& inputs, const TensorMap& shared, StageCache& cache,
                   const NewTokens& tokens) override;

 private:
  const std::shared_ptr<StageModule> stage_;
};

}  // namespace d9d
