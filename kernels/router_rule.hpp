#pragma once
// How tokens choose experts: see moe_router. No torch.

#include <cstdint>

namespace d9d::kernels {

struct RouterRule {
  std::int64_t top_k = 1;
  bool renormalise = false;  // divide the chosen scores by their sum + 1e-20
  // Scores are sigmoids of the logits instead of their softmax (DeepSeek-V3, arXiv 2412.19437, eq. 15).
  bool sigmoid = false;
  // Experts are in `groups` equal groups. A token may choose from the `kept_groups` groups whose two best
  // experts have the largest sum of scores (arXiv 2412.19437, 2.1.2).
  std::int64_t groups = 1;
  std::int64_t kept_groups = 1;
  double scale = 1;  // of the results

  bool limits_groups() const { return kept_groups < groups; }
};

}  // namespace d9d::kernels
