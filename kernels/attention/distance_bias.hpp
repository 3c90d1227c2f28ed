#pragma once
// Positions as biases of attention's scores: ALiBi (Press et al. 2021, arXiv 2108.12409) and the learned buckets of T5
// (Raffel et al. 2019, arXiv 1910.10683, section 2.1). Both are biases by distance (ScoreBias).

#include <ATen/core/Tensor.h>

#include <vector>

#include "kernels/ops/attention_ops.hpp"

namespace d9d::kernels {

// The slopes of ALiBi's heads: 2^(-8 (i + 1) / n) for a power of two n. For other counts those of the next lower power
// n, then every second of 2n, as the authors' code and transformers' Bloom have it.
std::vector<double> alibi_slopes(int64_t heads);

// Which of `buckets` a key at distance (key - query) falls into, as T5Attention._relative_position_bucket of
// transformers 5.23 computes it, in fp32: half of them for one distance each, the others logarithmic up to `longest`.
// `both_ways`: half of the buckets are for later keys; else later keys share bucket 0 with the query's own.
int64_t distance_bucket(int64_t distance, int64_t buckets, int64_t longest, bool both_ways);

// table [N, H] in any dtype of q, one_hot [N, W] in sum_dtype with column w's bucket -> [1, H, 1, W] in sum_dtype, for
// ScoreBias::values by distance. The table's gradient is weight work, and a product: its order is fixed.
at::Tensor bucketed_bias(const at::Tensor& table, const at::Tensor& one_hot);

}  // namespace d9d::kernels
