#pragma once
// Collectives that autograd goes through: each one's backward is its transpose. On the calling thread, in the
// order the graph runs them, which is the same on all ranks of the group. A group of one does nothing.
// Errors: as communicator.hpp; a size that the group does not divide is a bug.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <vector>

namespace d9d {

class Communicator;
using SharedCommunicator = std::shared_ptr<Communicator>;

// Blocks of dimension `dim` of all ranks, in rank order: [.., n, ..] -> [.., size * n, ..]. Backward: the sum
// over ranks, each its block.
at::Tensor gather_along(const at::Tensor& x, std::int64_t dim, const SharedCommunicator& group);
// The sum over ranks, each its block of `dim`: [.., size * n, ..] -> [.., n, ..]. Backward: gather.
at::Tensor scatter_sum_along(const at::Tensor& x, std::int64_t dim, const SharedCommunicator& group);
// Own block of `dim` of what all ranks hold alike. Backward:
// gather, so that all hold the whole gradient alike.
at::Tensor split_along(const at::Tensor& x, std::int64_t dim, const SharedCommunicator& group);
// Blocks of dimension `dim` of all ranks, in rank order, for what all go on to compute alike. Backward: own
// block of the gradient that all hold alike.
at::Tensor collect_along(const at::Tensor& x, std::int64_t dim, const SharedCommunicator& group);
// Rows of dimension 0: `send_rows[r]` rows go to rank r, in order; `receive_rows[r]` rows come from it.
// Backward: the way back. No rows at all is fine.
at::Tensor exchange_rows(const at::Tensor& x, std::vector<std::int64_t> send_rows,
                         std::vector<std::int64_t> receive_rows, const SharedCommunicator& group);
// All-to-all over two dimensions: `scatter_dim` is split over the ranks and `gather_dim` put together from
// them. Backward: the same with the dimensions swapped.
at::Tensor swap_shards(const at::Tensor& x, std::int64_t scatter_dim, std::int64_t gather_dim,
                       const SharedCommunicator& group);

// The same without a graph, for backward passes written by hand.
namespace plain {
at::Tensor gather_along(const at::Tensor& x, std::int64_t dim, Communicator& group);
at::Tensor scatter_sum_along(const at::Tensor& x, std::int64_t dim, Communicator& group);
at::Tensor exchange_rows(const at::Tensor& x, const std::vector<std::int64_t>& send_rows,
                         const std::vector<std::int64_t>& receive_rows, Communicator& group);
at::Tensor swap_shards(const at::Tensor& x, std::int64_t scatter_dim, std::int64_t gather_dim,
                       Communicator& group);
}  // namespace plain

}  // namespace d9d
