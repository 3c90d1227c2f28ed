#include "runtime/nn/shard/activation_shards.hpp"

#include "runtime/base/error.hpp"
#include "runtime/comm/communicator.hpp"

namespace d9d {

int ActivationShards::rank() const {
  return group_ ? group_->rank() : 0;
}

int ActivationShards::size() const {
  return group_ ? group_->size() : 1;
}

void ActivationShards::require_even(const at::Tensor& all) const {
  D9D_REQUIRE(all.size(dim_) % size() == 0,
              "{} positions in dimension {} cannot be shared by the {} ranks of mesh.tensor_parallel; make "
              "them a multiple of {}: choose another sequence length, or another mesh",
              all.size(dim_), dim_, size(), size());
}

at::Tensor ActivationShards::scatter_sum(const at::Tensor& share) const {
  if (!group_) return share;
  require_even(share);
  return scatter_sum_along(share, dim_, group_);
}

at::Tensor ActivationShards::split(const at::Tensor& all) const {
  if (!group_) return all;
  require_even(all);
  return split_along(all, dim_, group_);
}

}  // namespace d9d
