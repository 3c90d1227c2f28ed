#include "runtime/nn/shard/token_dispatch.hpp"

#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/index_select.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/sub.h>
#include <ATen/ops/tensor.h>

#include <algorithm>

#include "kernels/graph/kept_results.hpp"
#include "kernels/moe.hpp"
#include "runtime/base/error.hpp"
#include "runtime/comm/communicator.hpp"
#include "runtime/device/host_numbers.hpp"
#include "runtime/device/upload.hpp"

namespace d9d {
namespace {

// int64 [T, k]: the rank of each choice's expert; -1 where an earlier choice of
// the token goes to the same rank.
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

// Returns what `exchange` tells of the tokens on their way, or what a checkpointed segment has kept of it.
at::Tensor told_once(const char* what, const at::Tensor& experts, c10::function_ref<at::Tensor()> exchange) {
  return kernels::run_once(what, {kernels::KeptKind::exchange}, experts,
                           [&]() -> kernels::Results { return {exchange()}; })[0];
}

// Tells each rank how many rows it will get. Returns how many rows each rank will send here.
at::Tensor exchange_counts(const std::vector<std::int64_t>& send_rows, Communicator& group) {
  at::Tensor received = at::empty({group.size()}, at::kLong);
  const std::vector<std::int64_t> one_each(send_rows.size(), 1);
  group.all_to_all(received, at::tensor(send_rows, at::kLong), one_each, one_each).wait();
  return received;
}

std::vector<std::int64_t> rows_by_offsets(const at::Tensor& offsets, int size) {
  std::vector<std::int64_t> rows;
  const auto* offset = offsets.const_data_ptr<std::int64_t>();
  for (int to = 0; to < size; ++to) rows.push_back(offset[to + 1] - offset[to]);
  return rows;
}

// The host's knowledge of the tokens on their way, for tokens on a device. The host waits once,
// for the expert ids of this rank's tokens. The ids then travel from host to host, so it need
// not wait for those of other ranks.
class HostRoute {
 public:
  // Chosen experts and their ranks_of(), both [T, k] on the host.
  HostRoute(at::Tensor experts, at::Tensor ranks) : experts_(std::move(experts)), ranks_(std::move(ranks)) {}

  // Counts the rows for each rank and remembers which they are, in the order of
  // moe_permute: by rank, then by token.
  std::vector<std::int64_t> send_rows(int size) {
    const std::int64_t top_k = ranks_.size(1);
    std::vector<std::vector<std::int64_t>> tokens(static_cast<std::size_t>(size));
    const auto* rank = ranks_.const_data_ptr<std::int64_t>();
    for (std::int64_t i = 0; i < ranks_.numel(); ++i)
      if (rank[i] >= 0) tokens[static_cast<std::size_t>(rank[i])].push_back(i / top_k);
    std::vector<std::int64_t> counts;
    for (const auto& of_rank : tokens) {
      counts.push_back(static_cast<std::int64_t>(of_rank.size()));
      rows_.insert(rows_.end(), of_rank.begin(), of_rank.end());
    }
    return counts;
  }
  // The experts of the tokens that arrived here, counted from this rank's first expert.
  at::Tensor experts_here(const TokenRoute& route, std::int64_t first, Communicator& group) const {
    const at::Tensor sent = experts_.index_select(0, at::tensor(rows_, at::kLong));
    return plain::exchange_rows(sent, route.send_rows, route.receive_rows, group).sub(first);
  }

 private:
  const at::Tensor experts_, ranks_;
  std::vector<std::int64_t> rows_;
};

at::Tensor on_host(const at::Tensor& experts) {
  const at::Tensor here = copy_later(experts.contiguous());
  device_of(experts.device()).record().wait("experts of tokens");
  return here;
}

}  // namespace

DispatchedTokens dispatch_tokens(const at::Tensor& x, const at::Tensor& probs, const at::Tensor& experts,
                                 std::int64_t num_experts, const SharedCommunicator& group) {
  const std::int64_t size = group->size(), top_k = experts.size(1);
  D9D_CHECK(num_experts % size == 0, "{} experts are not divisible by the {} ranks of {}", num_experts, size,
            group->name());
  const bool of_host = experts.is_cpu();
  const at::Tensor known =
      of_host ? experts : told_once("d9d::choices_on_host", experts, [&] { return on_host(experts); });
  const at::Tensor ranks_here = ranks_of(known, num_experts / size);
  const at::Tensor ranks = of_host ? ranks_here : upload(ranks_here, device_of(experts.device()));
  // Between processes the number of exchanges costs more than their bytes. So expert ids travel
  // as floating-point numbers beside the probabilities (exact up to 2^24 experts), and both with
  // the tokens where dtypes are equal.
  at::Tensor choices = at::cat({probs, experts.to(probs.scalar_type())}, 1);
  const bool together = x.scalar_type() == choices.scalar_type();
  const auto [rows, offsets, map] =
      kernels::moe_permute(together ? at::cat({x, choices}, 1) : x, ranks, size);
  HostRoute on_way(known, ranks_here);
  TokenRoute route;
  route.map = map;
  route.send_rows = of_host ? rows_by_offsets(offsets, group->size()) : on_way.send_rows(group->size());
  const at::Tensor counts =
      told_once("d9d::exchange_counts", experts, [&] { return exchange_counts(route.send_rows, *group); });
  route.receive_rows.assign(counts.const_data_ptr<std::int64_t>(),
                            counts.const_data_ptr<std::int64_t>() + counts.numel());
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
  const std::int64_t first = group->rank() * (num_experts / size);
  const auto told = [&] { return on_way.experts_here(route, first, *group); };
  const at::Tensor own =
      of_host ? choices.detach().narrow(1, top_k, top_k).to(at::kLong).sub_(first)
              : upload(told_once("d9d::choices_here", experts, told), device_of(experts.device()));
  return {tokens, choices.narrow(1, 0, top_k), own, std::move(route)};
}

at::Tensor return_tokens(const at::Tensor& y, const TokenRoute& route, const SharedCommunicator& group) {
  const at::Tensor rows = exchange_rows(y, route.receive_rows, route.send_rows, group);
  const auto sums = y.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
  return kernels::moe_unpermute(
      rows, at::ones(route.map.sizes(), y.options().dtype(sums).requires_grad(false)), route.map);
}

}  // namespace d9d
