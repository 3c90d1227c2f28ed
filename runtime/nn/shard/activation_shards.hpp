#pragma once
// Activations between tensor-parallel blocks. Each rank of the group holds one block of one dimension; in a
// language model that is the sequence (sequence parallelism, Korthikanti et al. 2022, arXiv 2205.05198).
// Norms, residuals and other work on single positions run on this rank's block. Each rank gets one summand
// of the gradient of their weights; the group has to add them up.
//
//   gather        on the way into a block: column-parallel products need all positions
//   scatter_sum   on the way out: adds the summands of all ranks and returns this rank's block of the sum
//   split         takes this rank's block of a tensor that all ranks hold, such as the stage's inputs
//   collect       makes the whole tensor on all ranks, for a computation that all of them repeat (a loss)
//
// Call from the stage's compute thread, in the same order on all ranks of the group. Without a group the
// activations are whole and every call returns its argument.

#include "runtime/nn/shard/collectives.hpp"

namespace d9d {

class ActivationShards {
 public:
  ActivationShards() = default;
  ActivationShards(SharedCommunicator group, std::int64_t dim) : group_(std::move(group)), dim_(dim) {}

  // This rank's block [.., n, ..] -> the whole tensor [.., ranks * n, ..].
  at::Tensor gather(const at::Tensor& own) const { return group_ ? gather_along(own, dim_, group_) : own; }
  // Summand [.., ranks * n, ..] -> this rank's block [.., n, ..] of the sum.
  // Input error when the number of ranks does not divide the dimension.
  at::Tensor scatter_sum(const at::Tensor& share) const;
  // Whole tensor -> this rank's block. Same error.
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
