#pragma once
// Sends tokens to the ranks that hold their experts, and the results back (Lepikhin et al. 2020, "GShard",
// arXiv 2006.16668, section 3.2). Rank r of P holds the E / P experts from r * E / P on. A token is sent
// once to each rank that holds an expert chosen for it, with all its choices and their probabilities. That
// rank returns its part of the weighted sum. T: tokens of this rank; R: tokens that arrive here.
//
// Differentiable in tokens and probabilities. All ranks of the group run the same collectives whatever the
// routing: a rank that sends or receives no token takes part, too.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "runtime/device/event.hpp"
#include "runtime/nn/shard/collectives.hpp"

namespace d9d {

// The way of the tokens, for return_tokens().
struct TokenRoute {
  std::vector<std::int64_t> send_rows;     // to each rank
  std::vector<std::int64_t> receive_rows;  // from each rank
  at::Tensor map;  // int64 [T, k]: row sent for (token, choice); -1 when an earlier choice sent it there
};

struct DispatchedTokens {
  at::Tensor x;        // [R, H], ordered by sender
  at::Tensor probs;    // [R, k]
  at::Tensor experts;  // int64 [R, k], index into this rank's experts; outside [0, E / P): another rank's
  TokenRoute route;
};

// Where tokens go, before the host knows how many. On a device the order of rows, and the counts that the ranks tell
// each other, are the device's work.
struct TokenPlan {
  at::Tensor experts;  // int64 [T, k]
  at::Tensor map;      // see TokenRoute
  at::Tensor counts;   // int64 on the host, not to be read before `counted`
  Event counted;
  std::int64_t experts_per_rank = 0;
};

// experts int64 [T, k] in [0, num_experts). It is a bug when the number of ranks does not divide num_experts. The host
// does not wait. `choices`: how often each expert was chosen here, int64 [num_experts], where somebody has counted it;
// undefined: it is counted here, on a device.
TokenPlan plan_tokens(const at::Tensor& experts, std::int64_t num_experts, const SharedCommunicator& group,
                      const at::Tensor& choices = {});
// x [T, H], probs [T, k]. The host waits for the counts, once a call; not at all where a checkpointed segment has kept
// them. Errors as in communicator.hpp.
DispatchedTokens dispatch_tokens(const at::Tensor& x, const at::Tensor& probs, TokenPlan plan,
                                 const SharedCommunicator& group);
// y [R, H]: this rank's part of each token's weighted sum -> [T, H]: the sums of all parts, added in fp32.
at::Tensor return_tokens(const at::Tensor& y, const TokenRoute& route, const SharedCommunicator& group);

}  // namespace d9d
