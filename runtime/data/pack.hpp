#pragma once
// Samples as the tensors of a microbatch.

#include <cstdint>
#include <span>
#include <vector>

#include "runtime/data/sample_source.hpp"
#include "runtime/tensor/tensor_map.hpp"

namespace d9d {

// The microbatches of one step on one data rank, in order.
using MicrobatchPack = std::vector<TensorMap>;

// input_ids, labels and position_ids (0 to S-1 in every row), int64 [B, S] on the CPU. Samples must be of one
// length.
TensorMap make_microbatch(std::span<const Sample> samples);

}  // namespace d9d
