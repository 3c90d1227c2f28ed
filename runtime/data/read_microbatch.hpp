#pragma once
// Samples as the tensors of a microbatch.

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "runtime/data/batch_maths.hpp"
#include "runtime/data/collation.hpp"
#include "runtime/data/sample_source.hpp"
#include "runtime/tensor/tensor_map.hpp"

namespace d9d {

// input_ids, labels and position_ids (0 to S-1 in every row), int64
// [B, S] on the CPU. Samples of different lengths are an input error. Where a sample holds several documents:
// document_starts int64 [B, S], where in its row the document of each token begins and positions are 0. Where one is
// filled up: token_mask bool [B, S], false for what fills it up. The numbers
// of samples as fp32 [B, n] under their names; an input error where samples differ in names or in n.
TensorMap make_microbatch(std::span<const Sample> samples);

// Cuts off what fills all of them up, where the source knows the lengths of samples (sort_key) and their numbers begin with
// `first`: they are then as long as the longest, rounded up to a multiple of `unit`.
void cut_to_longest(const SampleSource& source, std::uint64_t first, std::int64_t unit,
                    std::vector<Sample>& samples);

// Microbatch `microbatch` of `data_rank`, in the step whose first sample, of all data ranks, is `step_begin`.
// `collation`: null for make_microbatch. `end`: samples from this one on are left out; where that leaves none, the last
// one before it stands alone, and counts nowhere (is_filler).
TensorMap read_microbatch(const SampleSource& source, const BatchMaths& maths, std::int64_t data_rank,
                          std::uint64_t step_begin, std::int64_t microbatch,
                          const Collation* collation = nullptr, std::optional<std::uint64_t> end = {});
bool is_filler(const BatchMaths& maths, std::int64_t data_rank, std::uint64_t step_begin,
               std::int64_t microbatch, std::optional<std::uint64_t> end);

}  // namespace d9d
