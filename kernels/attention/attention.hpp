#pragma once

#include <ATen/core/Tensor.h>

#include "kernels/ops/attention_ops.hpp"

namespace d9d::kernels {

// softmax(scale * q k^T) v per head; query head h reads key head h / (Hq / Hkv) (grouped queries, Ainslie et
// al. 2023). q [B, S, Hq, D], k [B, S, Hkv, D], v [B, S, Hkv, Dv], fp32, bf16 or fp64, strided rows allowed
// -> [B, S, Hq, Dv]. `mask` says which keys a query sees. Scores of other keys are computed only
// where the queries of the same tile need them. Never stores S x S scores (online softmax, Dao et
// al. 2022, algorithm 1).
// `visible`: see VisibleKeys (attention_ops.hpp); for documents in one row, padding, and prefixes that are seen
// whole (a full mask, with ends of keys). The result of a query that sees no key is 0.
// `sinks`: of sink_logits() (sinks.hpp), undefined without.
// `bias`: added to the scaled scores (ScoreBias); a mask of booleans is one by bias_of_mask() (score_bias.hpp). Gets
// its gradient where `bias.values` require one, summed over what they are shared by in an order that shapes alone fix.
at::Tensor attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const AttentionMask& mask,
                     double scale, const VisibleKeys& visible = {}, const at::Tensor& sinks = {},
                     const ScoreBias& bias = {});

}  // namespace d9d::kernels
