#pragma once
// Tensor parallelism with sequence parallelism: matrices shared out over the ranks of axis tp of the dense
// domain, activations between them over the same ranks (activation_shards.hpp).
//
// For modules of one's own: say which weights are shared out how, give the modules what activations() makes,
// and have them call gather before the first product and scatter_sum after the last:
//
//   TensorParallel tensor(parameters, groups);
//   tensor.column(up.weight, up.bias);       // h = act(up(shards.gather(x))): own columns of h
//   tensor.row(down.weight);                 // y = shards.scatter_sum(own columns of h times down^T)
//   model.shards = tensor.activations(/*dim=*/1);
//
// Weights that no call names stay whole on every rank. Their gradients are summed over tp, so every rank may
// count a position (or sample) once only: work on the own block, and collect() before a loss that all ranks
// compute alike. A loss counts on the first rank of tp only.

#include "runtime/nn/shard/activation_shards.hpp"
#include "runtime/nn/shard/placing.hpp"
#include "runtime/nn/shard/stage_groups.hpp"

namespace d9d {

// Strategies before it may have placed other parameters; those after it place what it shards on the other
// axes. With one rank every call does nothing and activations()
// are whole.
class TensorParallel {
 public:
  // Both outlive it.
  TensorParallel(StageParameters& parameters, StageGroups& groups);

  int size() const { return size_; }
  int rank() const { return rank_; }

  // weight [N, K] by N, near-even; bias [N] likewise, where defined.
  void column(const at::Tensor& weight, const at::Tensor& bias = {});
  // weight [N, K] by K, near-even. A bias stays whole: it is added after the sum.
  void row(const at::Tensor& weight);
  // Any tensor of the stage by any of its dimensions.
  void shard(const at::Tensor& tensor, int dim);

  ActivationShards activations(std::int64_t dim) const;

 private:
  StageParameters& parameters_;
  StageGroups& groups_;
  int size_;
  int rank_;  // on axis tp
};

}  // namespace d9d
