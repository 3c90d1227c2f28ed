#include "runtime/nn/plan/causal_lm_plan.hpp"

#include "runtime/base/error.hpp"
#include "runtime/nn/model/causal_lm.hpp"
#include "runtime/nn/plan/context_parallel.hpp"
#include "runtime/nn/plan/expert_parallel.hpp"
#include "runtime/nn/plan/fully_shard.hpp"
#include "runtime/nn/plan/replicate.hpp"
#include "runtime/nn/shard/tensor_parallel.hpp"

namespace d9d {
namespace {

CausalLm& causal_lm(StageModule& stage) {
  auto* const model = dynamic_cast<CausalLm*>(&stage);
  D9D_CHECK(model != nullptr, "the plan of causal language models is given another model");
  return *model;
}

// Every rank of the stage opens the same groups, whatever its own layers are, because opening waits for all.
void share_sequences(CausalLm& model, StageGroups& groups, const ContextOptions& options) {
  const std::int64_t heads = model.layers().begin()->second->attention().num_heads();
  const auto core = make_context_attention(groups, options, heads);
  if (!core) return;
  D9D_REQUIRE(
      !model.summarises_hidden_states(),
      "model_provider.hidden_states sums over sequences, which context parallelism shares between ranks; "
      "set it to no, or mesh.context_parallel_shard and context_parallel_replicate to 1");
  model.share_sequences(model.has_balance_loss() ? groups.open(batch_domain, {"cp"}, "context") : nullptr);
  for (const auto& [index, layer] : model.layers()) layer->attention().set_core(core);
}

void spread_experts(CausalLm& model, StageParameters& parameters, StageGroups& groups) {
  if (!groups.domains().parameters().has_expert_parallel()) return;
  D9D_REQUIRE(model.has_experts(),
              "mesh.expert_parallel = {}: the model is dense and has no experts; set it to 1",
              groups.domains().parameters().expert_parallel);
  for (const auto& [index, layer] : model.layers()) {
    if (ExpertBlock* const experts = layer->feed_forward().experts())
      parallelize_expert_parallel(*experts, parameters, groups);
  }
}

// Cuts each adapter in the way the weight of its linear was cut.
void place_branches(const CausalLm& model, StageParameters& parameters) {
  for (const auto& module : model.modules(/*include_self=*/false)) {
    const auto* const linear = dynamic_cast<const Linear*>(module.get());
    if (linear != nullptr && linear->branch)
      linear->branch->follow(parameter_of(parameters, linear->weight), parameters);
    const auto* const grouped = dynamic_cast<const GroupedLinear*>(module.get());
    if (grouped != nullptr && grouped->branch)
      grouped->branch->follow(parameter_of(parameters, grouped->weight), parameters);
  }
}

}  // namespace

StageParameters parallelize_causal_lm(StageModule& stage, StageGroups& groups,
                                      const ParallelOptions& options) {
  CausalLm& model = causal_lm(stage);
  StageParameters parameters = stage.parameters();
  TensorParallel tensor(parameters, groups);
  if (tensor.size() > 1) model.shard(tensor);
  share_sequences(model, groups, options.context);
  spread_experts(model, parameters, groups);
  place_branches(model, parameters);
  // From here on modules compute with the shards that they have. The strategies below change only how
  // parameters are stored and reduced, so they come last.
  parallelize_fully_shard(parameters, model.unit_uses(), "dp_cp_shard", groups, options.fully_shard);
  if (options.zero1) parallelize_zero1(parameters, model.unit_uses(), "dp_replicate", groups);
  parallelize_replicate(parameters, groups.domains().mesh_for(dense_domain), dense_axes(), groups.rank());
  return parameters;
}

}  // namespace d9d
