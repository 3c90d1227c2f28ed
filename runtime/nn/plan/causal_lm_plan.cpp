#include "runtime/nn/plan/causal_lm_plan.hpp"

#include "runtime/base/count.hpp"
#include "runtime/base/error.hpp"
#include "runtime/comm/communicator.hpp"
#include "runtime/nn/model/causal_lm.hpp"
#include "runtime/nn/plan/fully_shard.hpp"
#include "runtime/nn/plan/replicate.hpp"
#include "runtime/nn/plan/ring_attention.hpp"
#include "runtime/nn/plan/ulysses.hpp"
#include "runtime/nn/shard/tensor_parallel.hpp"

namespace d9d {
namespace {

CausalLm& causal_lm(StageModule& stage) {
  auto* const model = dynamic_cast<CausalLm*>(&stage);
  D9D_CHECK(model != nullptr, "the plan of causal language models is given another model");
  return *model;
}

// The attention core that attends over the tokens of all cp ranks, between which it exchanges keys and values; null
// when cp has one rank. runtime/rank/feed/context_split.hpp splits the batch; other blocks work on single tokens and
// do not change. `heads`: query heads per rank.
std::shared_ptr<const AttentionCore> make_context_attention(StageGroups& groups,
                                                            const ContextOptions& options,
                                                            std::int64_t heads) {
  const int ranks = groups.domains().parameters().context_parallel();
  if (ranks == 1) return nullptr;
  const bool ulysses = options.attention == ContextAttention::ulysses;
  D9D_REQUIRE(!ulysses || heads % ranks == 0,
              "ulysses cannot share {} over {} (context_parallel_shard x "
              "context_parallel_replicate); use parallelism.context.attention: ring",
              counted(heads, "attention head"), counted(ranks, "rank"));
  auto group = groups.open(batch_domain, {"cp"}, "context");
  if (ulysses) return std::make_shared<UlyssesAttention>(std::move(group), options.order);
  return std::make_shared<RingAttention>(std::move(group), options.order);
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

// Shards a layer's experts over the ranks of axis ep_shard; tokens are sent to the rank that holds their expert. The
// weights get the layout [ep_shard: shard(0), ep_replicate: replicate]: a rank's gradient of an expert is the sum over
// all tokens of its ep_shard group. The router stays whole on every rank.
void parallelize_expert_parallel(ExpertBlock& layer, StageParameters& parameters, StageGroups& groups) {
  const Mesh& mesh = groups.domains().mesh_for(expert_domain);
  const int degree = mesh.axis_size("ep_shard");
  D9D_REQUIRE(layer.num_experts() % degree == 0,
              "mesh.expert_parallel = {} does not divide the model's {} (num_experts); choose a divisor",
              degree, counted(layer.num_experts(), "expert"));
  for (const at::Tensor& weight : layer.expert_weights()) {
    StageParameter& parameter = parameter_of(parameters, weight);
    place(parameter, axis_of(mesh, "ep_shard", groups.rank(), Placement::shard(0)));
    place(parameter, axis_of(mesh, "ep_replicate", groups.rank(), Placement::replicate()));
  }
  layer.spread_experts(groups.open(expert_domain, {"ep_shard"}, "experts"));
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

std::vector<UnitUse> uses_of_causal_lm(StageModule& stage) {
  auto* const model = dynamic_cast<CausalLm*>(&stage);
  return model == nullptr ? std::vector<UnitUse>() : model->unit_uses();
}

}  // namespace d9d
