#pragma once
// Tokens on their way to experts that live on other ranks, and back (Lepikhin et al. 2020, "GShard", arXiv
// 2006.16668, section 3.2). Of E experts, rank r of a group of P holds r * E / P and the E / P - 1 after it.
// A token goes once to each rank that holds some expert of its choice, with its choices and their
// probabilities; what comes back is that rank's share of the weighted sum. T tokens here, R arriving.
//
// Differentiable in tokens and probabilities. Every call is the same collectives on all ranks of the group,
// whatever the routing: a rank to which no token goes, or that sends none, takes part.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "runtime/nn/shard/collectives.hpp"

namespace d9d {

// Where the tokens went; needed to take the results back.
struct TokenRoute {
  std::vector<std::int64_t> send_rows;     // to each rank
  std::vector<std::int64_t> receive_rows;  // from each rank
  at::Tensor map;  // int64 [T, k]: the row sent for (token, choice), -1 where one goes already
};

struct DispatchedTokens {
  at::Tensor x;        // [R, H], by rank of origin
  at::Tensor probs;    // [R, k]
  at::Tensor experts;  // int64 [R, k], index into this rank's experts; outside [0, E / P) those of others
  TokenRoute route;
};

// x [T, H], probs [T, k], experts int64 [T, k] in [0, num_experts). The group divides num_experts.
DispatchedTokens dispatch_tokens(const at::Tensor& x, const at::Tensor& probs, const at::Tensor& experts,
                                 std::int64_t num_experts, const SharedCommunicator& group);
// y [R, H], each row this rank's share of a token -> [T, H], the sum of the shares in fp32.
at::Tensor return_tokens(const at::Tensor& y, const TokenRoute& route, const SharedCommunicator& group);

}  // namespace d9d
