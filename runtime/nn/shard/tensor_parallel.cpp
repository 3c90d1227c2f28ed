#include "runtime/nn/shard/tensor_parallel.hpp"

namespace d9d {
namespace {

constexpr const char* tensor_axis = "tp";

const Mesh& dense_mesh(const StageGroups& groups) {
  return groups.domains().mesh_for(dense_domain);
}

}  // namespace

TensorParallel::TensorParallel(StageParameters& parameters, StageGroups& groups)
    : parameters_(parameters),
      groups_(groups),
      size_(dense_mesh(groups).axis_size(tensor_axis)),
      rank_(dense_mesh(groups).coordinate(groups.rank(), tensor_axis)) {}

void TensorParallel::column(const at::Tensor& weight, const at::Tensor& bias) {
  shard(weight, 0);
  if (bias.defined()) shard(bias, 0);
}

void TensorParallel::row(const at::Tensor& weight) {
  shard(weight, 1);
}

void TensorParallel::shard(const at::Tensor& tensor, int dim) {
  if (size_ == 1) return;
  place(parameter_of(parameters_, tensor),
        axis_of(dense_mesh(groups_), tensor_axis, groups_.rank(), Placement::shard(dim)));
}

ActivationShards TensorParallel::activations(std::int64_t dim) const {
  if (size_ == 1) return {};
  return {groups_.open(dense_domain, {tensor_axis}, "tensor_parallel"), dim};
}

}  // namespace d9d
