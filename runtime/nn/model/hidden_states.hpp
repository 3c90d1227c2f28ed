#pragma once
// Summarises the hidden states of all layers: one vector per layer and sample, the first of the embedding's
// output. The vectors travel through the stages of a pipeline as hidden_states_snapshot [layers so far, B,
// H], fp32 (fp64 for fp64), which is an output of the last stage.

#include <vector>

#include "runtime/nn/block/head_options.hpp"
#include "runtime/nn/shard/activation_shards.hpp"
#include "runtime/tensor/tensor_map.hpp"

namespace d9d {

// The summary of one microbatch on one stage.
class HiddenStateAggregator {
 public:
  // In mode `mean`: input error when `shared` has no hidden_states_agg_mask [B, S].
  HiddenStateAggregator(HiddenStateSummary mode, const TensorMap& shared, const ActivationShards& tokens);

  bool wanted() const { return mask_.defined(); }
  // Adds the hidden states [B, S / ranks, H] after the next layer. Mode `mean` computes sum(mask * hidden) /
  // sum(mask) over the tokens of each sample, or 0 when none counts. Mode `no` does nothing.
  void add(const at::Tensor& hidden);
  // Returns the vectors of earlier stages (`earlier`, undefined on the first) followed by those of this one.
  at::Tensor pack_with_snapshot(const at::Tensor& earlier) const;

 private:
  at::Tensor mask_;   // fp32 [B, S / ranks, 1]
  at::Tensor count_;  // fp32 [B, 1], at least the smallest number above 0
  ActivationShards tokens_;
  std::vector<at::Tensor> means_;  // [B, H]
};

// Passes tensors through one node of the graph, so that when one of them gets a gradient, the
// others get at least zeros. A stage has to send a gradient for each tensor that it received, but a
// loss need not use the snapshot.
std::vector<at::Tensor> bound_together(std::vector<at::Tensor> tensors);

}  // namespace d9d
