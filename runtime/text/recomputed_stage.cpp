#include "runtime/text/recomputed_stage.hpp"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>

#include <map>
#include <vector>

#include "runtime/base/error.hpp"
#include "runtime/device/upload.hpp"

namespace d9d {
namespace {

struct GivenInputs final : StageCache {
  std::map<std::int64_t, TensorMap> of_sequence;
};

// Where the stage computes.
const Device& device_of_stage(StageModule& stage) {
  const auto parameters = stage.parameters();
  return device_of(parameters.empty() ? c10::Device(at::kCPU) : parameters.front().tensor.device());
}

}  // namespace

std::unique_ptr<StageCache> RecomputedStage::make_cache(const CacheSize& /*size*/) const {
  return std::make_unique<GivenInputs>();
}

TensorMap RecomputedStage::extend(const TensorMap& inputs, const TensorMap& shared, StageCache& cache,
                                  const NewTokens& tokens) {
  auto* const given = dynamic_cast<GivenInputs*>(&cache);
  D9D_CHECK(given != nullptr, "the cache of another model was given");
  const c10::NoGradGuard no_gradients;
  const Device& device = device_of_stage(*stage_);
  std::map<std::string, std::vector<at::Tensor>> parts;
  std::int64_t begin = 0;
  for (const auto& stretch : tokens.stretches) {
    TensorMap& sequence = given->of_sequence[stretch.sequence];
    if (stretch.past == 0) sequence.clear();
    for (const auto& [name, tensor] : inputs) {
      const at::Tensor added = upload(tensor, device).narrow(1, begin, stretch.count);
      const auto before = sequence.find(name);
      sequence[name] = before == sequence.end() ? added.clone() : at::cat({before->second, added}, 1);
    }
    begin += stretch.count;
    const std::int64_t length = stretch.past + stretch.count;
    const at::Tensor positions = upload(at::arange(length, at::kLong).unsqueeze(0), device);
    const TensorMap outputs = stage_->forward(sequence, {{"position_ids", positions}});
    for (const auto& [name, tensor] : outputs) {
      D9D_REQUIRE(
          tensor.dim() > 1 && tensor.size(1) == length,
          "the output {} of the model has not one row for each of {} tokens, so that it cannot generate",
          name, length);
      parts[name].push_back(tensor.narrow(1, stretch.past, stretch.count));
    }
  }
  TensorMap made;
  for (const auto& [name, rows] : parts) made[name] = at::cat(rows, 1);
  const auto logits = made.find("logits");
  const auto chosen = shared.find("logit_positions");
  if (logits != made.end() && chosen != shared.end())
    logits->second = logits->second.index_select(1, upload(chosen->second, device));
  return made;
}

}  // namespace d9d
