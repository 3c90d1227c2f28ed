#pragma once
// Activations between blocks whose matrices are shared out over ranks: each rank of the group holds a block
// of one dimension (of the sequence in a language model: sequence parallelism, Korthikanti et al. 2022, arXiv
// 2205.05198). Norms, residuals and all else that treats positions one by one works on the own block, and
// the gradient of its weights is the own share of a sum over the group.
//
//   gather        entry of a block: column-parallel products need all positions
//   scatter_sum   its exit: row-parallel products leave a share of every position's sum
//   split         of what all ranks hold alike, such as the inputs of the first stage
//   collect       for what all ranks go on to compute alike, such as a loss
//
// Used on the stage's compute thread, in the same order on all ranks of the group. One without a group stands
// for activations that are whole: every call gives back its argument.

#include "runtime/nn/shard/collectives.hpp"

namespace d9d {

class ActivationShards {
 public:
  ActivationShards() = default;
  ActivationShards(SharedCommunicator group, std::int64_t dim) : group_(std::move(group)), dim_(dim) {}

  // own [.., n, ..] -> all [.., ranks * n, ..].
  at::Tensor gather(const at::Tensor& own) const { return group_ ? gather_along(own, dim_, group_) : own; }
  // share [.., ranks * n, ..] -> own [.., n, ..] of the sum over
  // ranks. Input error where the ranks do not divide the dimension.
  at::Tensor scatter_sum(const at::Tensor& share) const;
  // all -> own, likewise.
  at::Tensor split(const at::Tensor& all) const;
  at::Tensor collect(const at::Tensor& own) const { return group_ ? collect_along(own, dim_, group_) : own; }

  bool shared() const { return group_ != nullptr; }
  int rank() const;
  int size() const;
  const SharedCommunicator& group() const { return group_; }

 private:
  void require_even(const at::Tensor& all) const;

  SharedCommunicator group_;
  std::int64_t dim_ = 0;
};

}  // namespace d9d
