#pragma once
// The kinds of ops whose results a checkpointed segment may keep (kept_results.hpp). No torch, because job files
// name them.

namespace d9d::kernels {

enum class KeptKind {
  attention,  // attention and delta rules
  linear,     // products with weights
  experts,    // products of experts, and the router's choice
  exchange    // what other ranks sent: tokens, heads, sums; with the router's choice
};

}  // namespace d9d::kernels
