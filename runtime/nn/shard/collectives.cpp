#include "runtime/nn/shard/collectives.hpp"

#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <c10/core/GradMode.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/functions/utils.h>

#include <functional>
#include <numeric>

#include "kernels/graph/kept_results.hpp"
#include "kernels/graph/node_pointer.hpp"
#include "runtime/base/error.hpp"
#include "runtime/comm/communicator.hpp"

namespace d9d {
namespace {

using torch::autograd::variable_list;
using Transform = std::function<at::Tensor(const at::Tensor&)>;

class Transposed final : public torch::autograd::Node {
 public:
  explicit Transposed(Transform backward) : backward_(std::move(backward)) {}

 private:
  variable_list apply(variable_list&& grads) override {
    // A collective runs on all ranks or on none: a rank without a gradient takes part with zeros.
    D9D_CHECK(grads[0].defined(), "no gradient arrives at a collective of the backward pass");
    return {backward_(grads[0])};
  }

  Transform backward_;
};

// `kept_as`: the op's name where a checkpointed segment may keep the result. Gathered tensors are not kept, because
// each is larger than what it is made of.
at::Tensor differentiable(const at::Tensor& x, const Transform& forward, Transform backward,
                          const char* kept_as = nullptr) {
  at::Tensor y;
  {
    const at::NoGradGuard off;
    const auto run = [&]() -> kernels::Results { return {forward(x.detach())}; };
    y = (kept_as != nullptr ? kernels::run_once(kept_as, {kernels::KeptKind::exchange}, x, run) : run())[0];
    if (y.is_same(x)) y = y.alias();
  }
  if (!at::GradMode::is_enabled() || !x.requires_grad()) return y;
  const auto node = kernels::make_node<Transposed>(std::move(backward));
  node->set_next_edges(torch::autograd::collect_next_edges(x));
  torch::autograd::set_history(y, node);
  return y;
}

std::int64_t block_of(const at::Tensor& x, std::int64_t dim, const Communicator& group) {
  D9D_CHECK(x.size(dim) % group.size() == 0,
            "{} elements of dimension {} are not divisible by the {} ranks of {}", x.size(dim), dim,
            group.size(), group.name());
  return x.size(dim) / group.size();
}

std::vector<std::int64_t> with_leading(std::int64_t rows, const at::Tensor& x) {
  std::vector<std::int64_t> shape = x.sizes().vec();
  shape[0] = rows;
  return shape;
}

}  // namespace

namespace plain {

at::Tensor gather_along(const at::Tensor& x, std::int64_t dim, Communicator& group) {
  if (group.size() == 1) return x;
  std::vector<std::int64_t> shape = x.sizes().vec();
  shape.insert(shape.begin(), group.size());
  const at::Tensor all = at::empty(shape, x.options());
  at::Tensor rows = all.flatten();
  group.all_gather(rows, x.contiguous()).wait();
  // Blocks of one element along `dim` flatten without a copy, and not to a contiguous tensor.
  return all.movedim(0, dim).flatten(dim, dim + 1).contiguous();
}

at::Tensor scatter_sum_along(const at::Tensor& x, std::int64_t dim, Communicator& group) {
  if (group.size() == 1) return x;
  const std::int64_t block = block_of(x, dim, group);
  const at::Tensor blocks = x.unflatten(dim, {group.size(), block}).movedim(dim, 0).contiguous();
  at::Tensor mine = at::empty(blocks.sizes().slice(1), blocks.options());
  group.reduce_scatter(mine, blocks, ReduceOp::sum).wait();
  return mine;
}

at::Tensor exchange_rows(const at::Tensor& x, const std::vector<std::int64_t>& send_rows,
                         const std::vector<std::int64_t>& receive_rows, Communicator& group) {
  if (group.size() == 1) return x;
  const std::int64_t rows = std::accumulate(receive_rows.begin(), receive_rows.end(), std::int64_t{0});
  at::Tensor received = at::empty(with_leading(rows, x), x.options());
  group.all_to_all(received, x.contiguous(), receive_rows, send_rows).wait();
  return received;
}

at::Tensor swap_shards(const at::Tensor& x, std::int64_t scatter_dim, std::int64_t gather_dim,
                       Communicator& group) {
  if (group.size() == 1) return x;
  const std::int64_t block = block_of(x, scatter_dim, group);
  // Brings the blocks of each rank to dimension 0: an exchange sends rows of that dimension.
  const at::Tensor blocks =
      x.unflatten(scatter_dim, {group.size(), block}).movedim(scatter_dim, 0).contiguous();
  const std::vector<std::int64_t> one_each(static_cast<std::size_t>(group.size()), 1);
  const at::Tensor received = exchange_rows(blocks, one_each, one_each, group);
  return at::cat(received.unbind(0), gather_dim);
}

}  // namespace plain

at::Tensor gather_along(const at::Tensor& x, std::int64_t dim, const SharedCommunicator& group) {
  return differentiable(
      x, [&](const at::Tensor& local) { return plain::gather_along(local, dim, *group); },
      [group, dim](const at::Tensor& grad) { return plain::scatter_sum_along(grad, dim, *group); });
}

at::Tensor scatter_sum_along(const at::Tensor& x, std::int64_t dim, const SharedCommunicator& group) {
  return differentiable(
      x, [&](const at::Tensor& local) { return plain::scatter_sum_along(local, dim, *group); },
      [group, dim](const at::Tensor& grad) { return plain::gather_along(grad, dim, *group); },
      "d9d::scatter_sum");
}

at::Tensor split_along(const at::Tensor& x, std::int64_t dim, const SharedCommunicator& group) {
  if (group->size() == 1) return x;
  const std::int64_t block = block_of(x, dim, *group);
  return differentiable(
      x,
      [&](const at::Tensor& local) { return local.narrow(dim, group->rank() * block, block).contiguous(); },
      [group, dim](const at::Tensor& grad) { return plain::gather_along(grad, dim, *group); });
}

at::Tensor collect_along(const at::Tensor& x, std::int64_t dim, const SharedCommunicator& group) {
  const std::int64_t block = x.size(dim);
  return differentiable(
      x, [&](const at::Tensor& local) { return plain::gather_along(local, dim, *group); },
      [group, dim, block](const at::Tensor& grad) {
        return grad.narrow(dim, group->rank() * block, block).contiguous();
      });
}

at::Tensor exchange_rows(const at::Tensor& x, std::vector<std::int64_t> send_rows,
                         std::vector<std::int64_t> receive_rows, const SharedCommunicator& group) {
  const auto forward = [&](const at::Tensor& local) {
    return plain::exchange_rows(local, send_rows, receive_rows, *group);
  };
  const auto backward = [group, send_rows, receive_rows](const at::Tensor& grad) {
    return plain::exchange_rows(grad, receive_rows, send_rows, *group);
  };
  return differentiable(x, forward, backward, "d9d::exchange_rows");
}

at::Tensor swap_shards(const at::Tensor& x, std::int64_t scatter_dim, std::int64_t gather_dim,
                       const SharedCommunicator& group) {
  return differentiable(
      x, [&](const at::Tensor& local) { return plain::swap_shards(local, scatter_dim, gather_dim, *group); },
      [group, scatter_dim, gather_dim](const at::Tensor& grad) {
        return plain::swap_shards(grad, gather_dim, scatter_dim, *group);
      },
      "d9d::swap_shards");
}

}  // namespace d9d
