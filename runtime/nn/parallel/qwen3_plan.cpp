#include "runtime/nn/parallel/qwen3_plan.hpp"

#include "runtime/base/error.hpp"
#include "runtime/nn/parallel/context_parallel.hpp"
#include "runtime/nn/parallel/expert_parallel.hpp"
#include "runtime/nn/parallel/fully_shard.hpp"
#include "runtime/nn/parallel/replicate.hpp"
#include "runtime/nn/parallel/tensor_parallel.hpp"
#include "runtime/nn/qwen3_model.hpp"

namespace d9d {
namespace {

Qwen3Model& qwen3(StageModule& stage) {
  auto* const model = dynamic_cast<Qwen3Model*>(&stage);
  D9D_CHECK(model != nullptr, "the plan of Qwen3 is given another model");
  return *model;
}

void spread_experts(Qwen3Model& model, StageParameters& parameters, StageGroups& groups) {
  if (!groups.domains().parameters().has_expert_parallel()) return;
  D9D_REQUIRE(model.config().family == ModelFamily::moe,
              "mesh.expert_parallel = {}: the model is dense and has no experts; set it to 1",
              groups.domains().parameters().expert_parallel);
  for (const auto& [index, layer] : model.layers()) {
    if (layer->experts() != nullptr) parallelize_expert_parallel(*layer->experts(), parameters, groups);
  }
}

}  // namespace

StageParameters parallelize_qwen3(StageModule& stage, StageGroups& groups, const ParallelOptions& options) {
  Qwen3Model& model = qwen3(stage);
  StageParameters parameters = stage.parameters();
  parallelize_tensor_parallel(model, parameters, groups);
  parallelize_context_parallel(
      model, groups, options.context,
      model.config().num_attention_heads / groups.domains().parameters().tensor_parallel);
  spread_experts(model, parameters, groups);
  // What modules compute with lies; from here on only how it is kept and reduced.
  parallelize_fully_shard(parameters, model.unit_uses(), "dp_cp_shard", groups, options.fully_shard);
  if (options.zero1) parallelize_zero1(parameters, model.unit_uses(), "dp_replicate", groups);
  parallelize_replicate(parameters, groups.domains().mesh_for(kDenseDomain), dense_axes(), groups.rank());
  return parameters;
}

}  // namespace d9d
