#include "runtime/nn/shard/token_dispatch.hpp"

#include <ATen/ops/cat.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/sub.h>

#include <numeric>

#include "kernels/graph/kept_results.hpp"
#include "kernels/memory/host_values.hpp"
#include "kernels/moe.hpp"
#include "kernels/moe/choice_counts.hpp"
#include "runtime/base/error.hpp"
#include "runtime/comm/communicator.hpp"
#include "runtime/device/device.hpp"
#include "runtime/device/host_numbers.hpp"

namespace d9d {
namespace {

// Exchanges rows of `sent`, one for each rank.
at::Tensor exchange_row_each(const at::Tensor& sent, Communicator& group) {
  at::Tensor received = at::empty_like(sent);
  const std::vector<std::int64_t> one_each(static_cast<std::size_t>(group.size()), 1);
  group.all_to_all(received, sent, one_each, one_each).wait();
  return received;
}

// What ranks tell each other, int64 on the host, [P] each.
enum CountKind : std::int64_t {
  rows_to,
  rows_from,
  choices_from  // of experts here; only of a device, whose ids the host does not see
};

std::vector<std::int64_t> counts_of(const TokenPlan& plan, CountKind kind, std::int64_t size) {
  const auto* const first = plan.counts.const_data_ptr<std::int64_t>() + kind * size;
  return {first, first + size};
}

std::int64_t sum_of(const std::vector<std::int64_t>& counts) {
  return std::reduce(counts.begin(), counts.end());
}

// offsets [P + 1] of the rows for each rank. A device's result is on its way to the host.
at::Tensor exchange_counts(const at::Tensor& offsets, const at::Tensor& experts, std::int64_t num_experts,
                           const at::Tensor& choices, Communicator& group) {
  const std::int64_t size = group.size();
  const at::Tensor rows = at::sub(offsets.narrow(0, 1, size), offsets.narrow(0, 0, size));
  if (offsets.is_cpu()) return at::cat({rows, exchange_row_each(rows, group)});
  const at::Tensor by_expert = choices.defined() ? choices : kernels::choice_counts(experts, num_experts);
  const at::Tensor by_rank = by_expert.view({size, -1}).sum(1);
  const at::Tensor received = exchange_row_each(at::stack({rows, by_rank}, 1), group);
  return copy_later(at::cat({rows, received.select(1, 0), received.select(1, 1)}));
}

}  // namespace

TokenPlan plan_tokens(const at::Tensor& experts, std::int64_t num_experts, const SharedCommunicator& group,
                      const at::Tensor& choices) {
  const std::int64_t size = group->size();
  D9D_CHECK(num_experts % size == 0, "{} experts are not divisible by the {} ranks of {}", num_experts, size,
            group->name());
  TokenPlan plan{.experts = experts, .experts_per_rank = num_experts / size};
  at::Tensor offsets;
  std::tie(offsets, plan.map) =
      kernels::order_rows(kernels::choice_owners(experts, plan.experts_per_rank), size);
  const auto exchange = [&]() -> kernels::Results {
    at::Tensor counts = exchange_counts(offsets, experts, num_experts, choices, *group);
    plan.counted = device_of(experts.device()).record();
    return {counts};
  };
  plan.counts =
      kernels::run_once("d9d::exchange_counts", {kernels::KeptKind::exchange}, experts, exchange)[0];
  return plan;
}

DispatchedTokens dispatch_tokens(const at::Tensor& x, const at::Tensor& probs, TokenPlan plan,
                                 const SharedCommunicator& group) {
  const std::int64_t size = group->size(), top_k = probs.size(1);
  plan.counted.wait("counts of tokens");
  group->check();
  TokenRoute route{.send_rows = counts_of(plan, rows_to, size),
                   .receive_rows = counts_of(plan, rows_from, size),
                   .map = plan.map};
  const auto travel = [&](const at::Tensor& of_tokens) {
    return exchange_rows(kernels::spread_rows(of_tokens, route.map, sum_of(route.send_rows)), route.send_rows,
                         route.receive_rows, group);
  };
  // The number of exchanges costs more than their bytes. So expert ids travel as floating-point numbers beside the
  // probabilities (exact up to 2^24 experts), and both with the tokens where dtypes are equal.
  at::Tensor choices = at::cat({probs, plan.experts.to(probs.scalar_type())}, 1), tokens;
  if (x.scalar_type() == choices.scalar_type()) {
    const auto parts = travel(at::cat({x, choices}, 1)).split_with_sizes({x.size(1), 2 * top_k}, 1);
    tokens = parts[0], choices = parts[1];
  } else {
    tokens = travel(x), choices = travel(choices);
  }
  const at::Tensor own =
      choices.detach().narrow(1, top_k, top_k).to(at::kLong).sub_(group->rank() * plan.experts_per_rank);
  if (!own.is_cpu())
    kernels::keep_count(own, plan.experts_per_rank, sum_of(counts_of(plan, choices_from, size)));
  return {tokens, choices.narrow(1, 0, top_k), own, std::move(route)};
}

at::Tensor return_tokens(const at::Tensor& y, const TokenRoute& route, const SharedCommunicator& group) {
  const at::Tensor rows = exchange_rows(y, route.receive_rows, route.send_rows, group);
  const auto sums = y.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
  return kernels::moe_unpermute(
      rows, at::ones(route.map.sizes(), y.options().dtype(sums).requires_grad(false)), route.map);
}

}  // namespace d9d
