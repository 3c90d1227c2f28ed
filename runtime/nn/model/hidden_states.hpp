#pragma once
// What a model keeps of the hidden states of all its layers: a vector for each layer and sample, first that of
// the embedding's output. It travels through the stages of a pipeline as hidden_states_snapshot
// [layers so far, B, H], fp32 (fp64 of fp64), and is an output of the last stage.

#include <vector>

#include "runtime/nn/block/head_options.hpp"
#include "runtime/nn/shard/activation_shards.hpp"
#include "runtime/tensor/tensor_map.hpp"

namespace d9d {

// Of one microbatch on one stage.
class HiddenStateAggregator {
 public:
  // `shared` has to have hidden_states_agg_mask [B, S] in mode `mean`; an input error otherwise.
  HiddenStateAggregator(HiddenStateSummary mode, const TensorMap& shared, const ActivationShards& tokens);

  bool wanted() const { return mask_.defined(); }
  // Hidden states [B, S / ranks, H] after the next layer. Mode `mean`: their sum over the tokens, each times its
  // mask, over the sum of the mask; 0 where no token of a sample counts. Mode `no` does nothing.
  void add(const at::Tensor& hidden);
  // The vectors of earlier stages (undefined on the first) and of this one.
  at::Tensor pack_with_snapshot(const at::Tensor& earlier) const;

 private:
  at::Tensor mask_;   // fp32 [B, S / ranks, 1]
  at::Tensor count_;  // fp32 [B, 1], at least the smallest number above 0
  ActivationShards tokens_;
  std::vector<at::Tensor> means_;  // [B, H]
};

// The same tensors as one node of the graph: when one of them gets a gradient, the others get zeros at least. A
// stage must give each tensor of the stage before a gradient, and a loss need not use the snapshot.
std::vector<at::Tensor> bound_together(std::vector<at::Tensor> tensors);

}  // namespace d9d
