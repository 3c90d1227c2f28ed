#pragma once
// What a Loader actor feeds from: the packs of one data rank, step by step. No torch in this header.

#include <cstdint>
#include <memory>
#include <optional>

#include "runtime/tensor/tensor_table.hpp"

namespace d9d {

struct StepBatch {
  Ticket ticket;  // PackParcel: the microbatches of the data rank, in order
  std::uint32_t microbatches = 0;
  std::uint64_t next_sample = 0;  // cursor in global samples after this step
};

class BatchFeed {
 public:
  virtual ~BatchFeed() = default;
  // The pack of `step` (from 1). Steps come in order, starting anywhere. Empty when the data has no complete
  // step left.
  virtual std::optional<StepBatch> load(std::uint64_t step) = 0;
};

}  // namespace d9d
