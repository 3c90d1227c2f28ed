#include "runtime/nn/parallel/token_dispatch.hpp"

#include <ATen/ops/cat.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/ones.h>

#include <algorithm>

#include "kernels/moe.hpp"
#include "runtime/base/error.hpp"
#include "runtime/comm/communicator.hpp"

namespace d9d {
namespace {

// int64 [T, k]: the rank of the choice's expert, -1 where an earlier choice of the token goes there too.
at::Tensor ranks_of(const at::Tensor& experts, std::int64_t experts_per_rank) {
  const at::Tensor choices = experts.contiguous();
  at::Tensor ranks = at::empty_like(choices);
  const std::int64_t top_k = choices.size(1);
  const auto* chosen = choices.const_data_ptr<std::int64_t>();
  auto* rank = ranks.data_ptr<std::int64_t>();
  for (std::int64_t token = 0; token < choices.size(0); ++token, chosen += top_k, rank += top_k) {
    for (std::int64_t j = 0; j < top_k; ++j) {
      const std::int64_t to = chosen[j] / experts_per_rank;
      rank[j] = std::find(rank, rank + j, to) == rank + j ? to : -1;
    }
  }
  return ranks;
}

// What each rank is about to send here.
std::vector<std::int64_t> exchange_counts(std::vector<std::int64_t> send_rows, Communicator& group) {
  std::vector<std::int64_t> receive_rows(send_rows.size());
  const auto view = [](std::vector<std::int64_t>& rows) {
    return at::from_blob(rows.data(), {static_cast<std::int64_t>(rows.size())}, at::kLong);
  };
  at::Tensor received = view(receive_rows);
  const std::vector<std::int64_t> one_each(send_rows.size(), 1);
  group.all_to_all(received, view(send_rows), one_each, one_each);
  return receive_rows;
}

}  // namespace

DispatchedTokens dispatch_tokens(const at::Tensor& x, const at::Tensor& probs, const at::Tensor& experts,
                                 std::int64_t num_experts, const SharedCommunicator& group) {
  const std::int64_t size = group->size(), top_k = experts.size(1);
  D9D_CHECK(num_experts % size == 0, "{} experts are not divisible by the {} ranks of {}", num_experts, size,
            group->name());
  const std::int64_t experts_here = num_experts / size;
  const at::Tensor ranks = ranks_of(experts, experts_here);
  // Choices travel as numbers beside their probabilities: exact up to 2^24 experts.
  const at::Tensor choices = at::cat({probs, experts.to(probs.scalar_type())}, 1);
  const auto [rows, offsets, map] = kernels::moe_permute(x, ranks, size);
  const at::Tensor row_choices = std::get<0>(kernels::moe_permute(choices, ranks, size));

  TokenRoute route{std::vector<std::int64_t>(static_cast<std::size_t>(size)), {}, map};
  const auto* offset = offsets.const_data_ptr<std::int64_t>();
  for (std::size_t to = 0; to < route.send_rows.size(); ++to)
    route.send_rows[to] = offset[to + 1] - offset[to];
  route.receive_rows = exchange_counts(route.send_rows, *group);

  const at::Tensor arrived = exchange_rows(rows, route.send_rows, route.receive_rows, group);
  const at::Tensor arrived_choices = exchange_rows(row_choices, route.send_rows, route.receive_rows, group);
  const at::Tensor global = arrived_choices.detach().narrow(1, top_k, top_k).to(at::kLong);
  return {arrived, arrived_choices.narrow(1, 0, top_k), global.sub_(group->rank() * experts_here),
          std::move(route)};
}

at::Tensor return_tokens(const at::Tensor& y, const TokenRoute& route, const SharedCommunicator& group) {
  const at::Tensor rows = exchange_rows(y, route.receive_rows, route.send_rows, group);
  const auto sums = y.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
  return kernels::moe_unpermute(rows, at::ones(route.map.sizes(), sums), route.map);
}

}  // namespace d9d
