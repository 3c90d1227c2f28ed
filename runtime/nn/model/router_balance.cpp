#include "runtime/nn/model/router_balance.hpp"

#include <ATen/ops/dot.h>
#include <ATen/ops/zeros.h>

#include "runtime/comm/communicator.hpp"

namespace d9d {

at::Tensor RouterBalance::no_sums(const at::Tensor& like) const {
  const auto wide = like.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
  return at::zeros({3, options_.num_experts}, like.options().dtype(wide).requires_grad(false));
}

// Each token makes top_k choices per layer, so the choices say how many tokens count. This number stays on
// the device, so that the host need not wait for it.
at::Tensor RouterBalance::masked_loss(const at::Tensor& sums) const {
  const at::Tensor choices = sums[0].detach();
  const at::Tensor rows =
      choices.sum(at::kDouble).div(static_cast<double>(options_.top_k)).clamp_min(1).to(sums.scalar_type());
  const double experts = static_cast<double>(options_.num_experts);
  const at::Tensor balance = at::dot(choices.div(rows), sums[1].div(rows)).mul(options_.weight * experts);
  return options_.z_weight == 0 ? balance : balance.add(sums[2].sum().div(rows).mul(options_.z_weight));
}

at::Tensor RouterBalance::loss(const at::Tensor& sums, std::optional<std::int64_t> tokens,
                               const ActivationShards& shards) const {
  at::Tensor all = sums;
  // collect: all ranks of tensor parallelism compute the same loss, and the step counts that of one rank.
  if (shards.shared()) all = collect_along(all.unsqueeze(0), 0, shards.group()).sum(0);
  // gather: the step adds up the losses of the ranks that share sequences, so
  // gradients have to be summed over them.
  if (sequence_group_) all = gather_along(all.unsqueeze(0), 0, sequence_group_).sum(0);
  if (!tokens) return masked_loss(all);
  const auto ranks = shards.size() * (sequence_group_ ? sequence_group_->size() : 1);
  const double rows = static_cast<double>(*tokens * ranks * options_.layers);
  const double experts = static_cast<double>(options_.num_experts);
  const at::Tensor product = at::dot(all[0].detach(), all[1]);
  const at::Tensor balance = product.mul(options_.weight * experts / (rows * rows));
  return options_.z_weight == 0 ? balance : balance.add(all[2].sum().mul(options_.z_weight / rows));
}

}  // namespace d9d
