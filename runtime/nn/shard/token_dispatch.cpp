#include "runtime/nn/shard/token_dispatch.hpp"

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

TokenRoute route_of(const at::Tensor& offsets, const at::Tensor& map, Communicator& group) {
  TokenRoute route;
  route.map = map;
  const auto* offset = offsets.const_data_ptr<std::int64_t>();
  for (int to = 0; to < group.size(); ++to) route.send_rows.push_back(offset[to + 1] - offset[to]);
  route.receive_rows = exchange_counts(route.send_rows, group);
  return route;
}

}  // namespace

DispatchedTokens dispatch_tokens(const at::Tensor& x, const at::Tensor& probs, const at::Tensor& experts,
                                 std::int64_t num_experts, const SharedCommunicator& group) {
  const std::int64_t size = group->size(), top_k = experts.size(1);
  D9D_CHECK(num_experts % size == 0, "{} experts are not divisible by the {} ranks of {}", num_experts, size,
            group->name());
  const at::Tensor ranks = ranks_of(experts, num_experts / size);
  // Choices travel as numbers beside their probabilities (exact up to 2^24 experts), and with the token where
  // they are of its type: between processes an exchange costs more than what it carries.
  at::Tensor choices = at::cat({probs, experts.to(probs.scalar_type())}, 1);
  const bool together = x.scalar_type() == choices.scalar_type();
  const auto [rows, offsets, map] =
      kernels::moe_permute(together ? at::cat({x, choices}, 1) : x, ranks, size);
  TokenRoute route = route_of(offsets, map, *group);
  const auto travel = [&](const at::Tensor& sent) {
    return exchange_rows(sent, route.send_rows, route.receive_rows, group);
  };
  at::Tensor tokens = travel(rows);
  if (together) {
    const auto parts = tokens.split_with_sizes({x.size(1), 2 * top_k}, 1);
    tokens = parts[0], choices = parts[1];
  } else {
    choices = travel(std::get<0>(kernels::moe_permute(choices, ranks, size)));
  }
  const at::Tensor global = choices.detach().narrow(1, top_k, top_k).to(at::kLong);
  return {tokens, choices.narrow(1, 0, top_k), global.sub_(group->rank() * (num_experts / size)),
          std::move(route)};
}

at::Tensor return_tokens(const at::Tensor& y, const TokenRoute& route, const SharedCommunicator& group) {
  const at::Tensor rows = exchange_rows(y, route.receive_rows, route.send_rows, group);
  const auto sums = y.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
  return kernels::moe_unpermute(rows, at::ones(route.map.sizes(), sums), route.map);
}

}  // namespace d9d
