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

// Stacks samples into input_ids, labels and position_ids (0 to S-1 in every row), int64 [B, S] on
// the CPU. Two tensors are added only where they are needed:
//   document_starts  int64 [B, S], if a sample holds several documents: where in its row the document
//                    of each token begins; position_ids then start at 0 there
//   token_mask       bool [B, S], if a sample is padded: false for padding
// The numbers of samples become fp32 [B, n] under their names, and values that are tensors [B, ...]. Input
// errors: samples of different lengths, or whose numbers or values differ in names or shapes; other values.
TensorMap make_microbatch(std::span<const Sample> samples);
// The same, or by a plugin's collation.
TensorMap collate(std::span<const Sample> samples, const Collation* collation);

// Cuts off the padding that all samples of the microbatch share, where the source knows their
// lengths (sort_key); `first` is the number of the first one. The samples are then as long as the
// longest, rounded up to a multiple of `unit`.
void cut_to_longest(const SampleSource& source, std::uint64_t first, std::int64_t unit,
                    std::vector<Sample>& samples);

enum class RestOfBatch { left_out, filled_up };

// Reads microbatch `microbatch` of `data_rank`, in the step whose first sample over all
// data ranks is `step_begin`. `collation`: null for make_microbatch(). Samples from `end`
// on are left out. If none is left, the batch holds the last sample before `end` alone,
// which counts nowhere (is_filler). With RestOfBatch::filled_up the batch stays whole: the last
// sample stands again for each that is left out, without labels and tokens that count.
TensorMap read_microbatch(const SampleSource& source, const BatchMaths& maths, std::int64_t data_rank,
                          std::uint64_t step_begin, std::int64_t microbatch,
                          const Collation* collation = nullptr, std::optional<std::uint64_t> end = {},
                          RestOfBatch rest = RestOfBatch::left_out);
bool is_filler(const BatchMaths& maths, std::int64_t data_rank, std::uint64_t step_begin,
               std::int64_t microbatch, std::optional<std::uint64_t> end);

}  // namespace d9d
