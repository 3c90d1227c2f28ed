#pragma once
// Tensor parallelism with sequence parallelism: matrices are sharded over the ranks of axis tp of the dense
// domain, and so are the activations between blocks (activation_shards.hpp).
//
// In a plugin's model: name the sharded weights, give the modules the result of activations(), and let them
// call gather before the first product and scatter_sum after the last:
//
//   TensorParallel tensor(parameters, groups);
//   tensor.column(up.weight, up.bias);       // h = act(up(shards.gather(x))): this rank's columns of h
//   tensor.row(down.weight);                 // y = shards.scatter_sum(this rank's columns of h times down^T)
//   model.shards = tensor.activations(/*dim=*/1);
//
// Weights that no call names stay whole on every rank, and their gradients are summed over tp. So each
// position (or sample) must contribute to them on one rank only: compute on this rank's block, and call
// collect() before a loss that all ranks compute. The step counts the loss of the first rank of tp.

#include "runtime/nn/shard/activation_shards.hpp"
#include "runtime/nn/shard/placing.hpp"
#include "runtime/nn/shard/stage_groups.hpp"

namespace d9d {

// Use it before the strategies that place parameters on other axes (placing.hpp). With one rank on tp its
// calls do nothing, and activations() are whole.
class TensorParallel {
 public:
  // Keeps references to both.
  TensorParallel(StageParameters& parameters, StageGroups& groups);

  int size() const { return size_; }
  int rank() const { return rank_; }

  // Column-parallel: shards weight [N, K] and, if defined, bias [N] over N, near-even.
  void column(const at::Tensor& weight, const at::Tensor& bias = {});
  // Row-parallel: shards weight [N, K] over K, near-even. Do not shard its bias: it is added after the sum.
  void row(const at::Tensor& weight);
  // Shards any parameter of the stage over any of its dimensions.
  void shard(const at::Tensor& tensor, int dim);

  ActivationShards activations(std::int64_t dim) const;

 private:
  StageParameters& parameters_;
  StageGroups& groups_;
  int size_;
  int rank_;  // on axis tp
};

}  // namespace d9d
