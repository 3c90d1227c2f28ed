#include "runtime/rank/measured/rank_experts.hpp"

#include <ATen/ops/cat.h>

#include "runtime/comm/communicator.hpp"
#include "runtime/metric/expert_load.hpp"
#include "runtime/nn/plan/replicate.hpp"
#include "runtime/tensor/routed_stage.hpp"
#include "runtime/tensor/stage_module.hpp"

namespace d9d {

void RankExperts::add(StageModule& module) {
  if (auto* const routed = dynamic_cast<RoutedStage*>(&module)) stages_.push_back(routed);
}

void RankExperts::count(ExpertLoad& load) const {
  for (const RoutedStage* stage : stages_) {
    for (const RoutedTokens& routed : stage->routed_tokens()) {
      const at::Tensor tokens = routed.tokens.cpu();
      load.update(routed.layer,
                  {tokens.const_data_ptr<std::int64_t>(), static_cast<std::size_t>(tokens.numel())});
    }
  }
}

// Sums over all ranks of a stage, because each routes other tokens: other samples, other parts of a
// sequence, and with tensor parallelism other shards of the sequence. One sum serves all stages of the rank.
void RankExperts::balance() {
  std::vector<std::vector<RoutedTokens>> counted;
  std::vector<at::Tensor> parts;
  for (const RoutedStage* stage : stages_) {
    counted.push_back(stage->balances_load() ? stage->routed_tokens() : std::vector<RoutedTokens>());
    for (const RoutedTokens& routed : counted.back()) parts.push_back(routed.tokens);
  }
  if (parts.empty()) return;
  const auto group = groups_.open(dense_domain, dense_axes(), "expert load");
  at::Tensor sums = at::cat(parts);
  group->all_reduce(sums, ReduceOp::sum).wait();
  std::int64_t begin = 0;
  for (std::size_t stage = 0; stage < stages_.size(); ++stage) {
    for (RoutedTokens& routed : counted[stage]) {
      const std::int64_t experts = routed.tokens.numel();
      routed.tokens = sums.narrow(0, begin, experts);
      begin += experts;
    }
    stages_[stage]->balance(counted[stage]);
  }
}

void RankExperts::end_step(bool update) {
  if (update) balance();
  for (RoutedStage* stage : stages_) stage->end_step();
}

}  // namespace d9d
