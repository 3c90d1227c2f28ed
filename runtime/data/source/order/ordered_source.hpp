#pragma once
// Reorders the samples of a source within each epoch (sample_order_config.hpp).

#include <memory>
#include <optional>

#include "runtime/data/config/sample_order_config.hpp"
#include "runtime/data/source/order/buffer_sorted.hpp"
#include "runtime/data/source/order/shards.hpp"
#include "runtime/data/source/source_over.hpp"

namespace d9d {

class OrderedSource final : public SourceOver {
 public:
  // Input errors: an endless source; a sorted order of samples without lengths (sort_key()).
  OrderedSource(std::shared_ptr<const SampleSource> source, const SampleOrder& order, std::uint64_t seed);
  std::optional<std::uint64_t> num_samples() const override { return num_samples_; }

 private:
  std::uint64_t index_of(std::uint64_t index) const override;

  const std::uint64_t num_samples_;
  std::optional<BufferSorted> sorted_;
  std::optional<Shards> shards_;
};

// Returns the source itself if no order is asked for.
std::shared_ptr<const SampleSource> in_order(std::shared_ptr<const SampleSource> source,
                                             const SampleOrder& order, std::uint64_t seed);

}  // namespace d9d
