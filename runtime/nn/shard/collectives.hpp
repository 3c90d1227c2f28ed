#pragma once
// Differentiable collectives: the backward of each is its transpose. Forward and backward run on the calling
// thread. All ranks of the group must run the same ones in the same order. In a group of one they do
// nothing. Errors as in communicator.hpp. A size that the number of ranks does not divide is a bug.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <vector>

namespace d9d {

class Communicator;
using SharedCommunicator = std::shared_ptr<Communicator>;

// Concatenates the ranks' blocks along `dim`, in rank order: [.., n, ..] -> [.., size * n,
// ..]. Backward: sums the gradients over ranks and returns this rank's block of the sum.
at::Tensor gather_along(const at::Tensor& x, std::int64_t dim, const SharedCommunicator& group);
// Sums over ranks and returns this rank's block along `dim`:
// [.., size * n, ..] -> [.., n, ..]. Backward: gather.
at::Tensor scatter_sum_along(const at::Tensor& x, std::int64_t dim, const SharedCommunicator& group);
// Returns this rank's block along `dim` of a tensor that all ranks hold. Backward: gather, so that
// all ranks hold the whole gradient.
at::Tensor split_along(const at::Tensor& x, std::int64_t dim, const SharedCommunicator& group);
// Concatenates like gather_along. Use it when all ranks compute the same from the result: all of them then
// have the same whole gradient, and backward returns this rank's block of it without a sum.
at::Tensor collect_along(const at::Tensor& x, std::int64_t dim, const SharedCommunicator& group);
// Sends rows of dimension 0: the first send_rows[0] rows to rank 0, and so on; receive_rows[r] rows come from
// rank r. Backward sends the gradients back. Any count may be 0.
at::Tensor exchange_rows(const at::Tensor& x, std::vector<std::int64_t> send_rows,
                         std::vector<std::int64_t> receive_rows, const SharedCommunicator& group);
// All-to-all: splits `scatter_dim` over the ranks and concatenates the ranks' blocks along `gather_dim`.
// Backward: the same with the two dimensions exchanged.
at::Tensor swap_shards(const at::Tensor& x, std::int64_t scatter_dim, std::int64_t gather_dim,
                       const SharedCommunicator& group);

// The same collectives without autograd, for backward passes written by hand.
namespace plain {
at::Tensor gather_along(const at::Tensor& x, std::int64_t dim, Communicator& group);
at::Tensor scatter_sum_along(const at::Tensor& x, std::int64_t dim, Communicator& group);
at::Tensor exchange_rows(const at::Tensor& x, const std::vector<std::int64_t>& send_rows,
                         const std::vector<std::int64_t>& receive_rows, Communicator& group);
at::Tensor swap_shards(const at::Tensor& x, std::int64_t scatter_dim, std::int64_t gather_dim,
                       Communicator& group);
}  // namespace plain

}  // namespace d9d
