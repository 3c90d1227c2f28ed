#pragma once
// Reorders the samples of a source within each epoch (sample_order_config.hpp).

#include <memory>
#include <optional>

#include "runtime/data/config/sample_order_config.hpp"
#include "runtime/data/sample_source.hpp"
#include "runtime/data/source/order/buffer_sorted.hpp"
#include "runtime/data/source/order/shards.hpp"

namespace d9d {

class OrderedSource final : public SampleSource {
 public:
  // Input errors: an endless source; a sorted order of samples without lengths (sort_key()).
  OrderedSource(std::shared_ptr<const SampleSource> source, const SampleOrder& order, std::uint64_t seed);
  std::optional<std::uint64_t> num_samples() const override { return num_samples_; }
  std::int64_t sequence_length() const override { return source_->sequence_length(); }
  std::optional<std::int64_t> vocab_size() const override { return source_->vocab_size(); }
  Sample at(std::uint64_t index) const override { return source_->at(index_of(index)); }
  std::optional<std::int64_t> sort_key(std::uint64_t index) const override {
    return source_->sort_key(index_of(index));
  }
  std::vector<RowPlace> places_of(std::uint64_t index) const override {
    return source_->places_of(index_of(index));
  }
  std::optional<Scanned> scan_ids(const ScanLimits& limits) const override {
    return source_->scan_ids(limits);
  }

 private:
  std::uint64_t index_of(std::uint64_t index) const;

  const std::shared_ptr<const SampleSource> source_;
  const std::uint64_t num_samples_;
  std::optional<BufferSorted> sorted_;
  std::optional<Shards> shards_;
};

// Returns the source itself if no order is asked for.
std::shared_ptr<const SampleSource> in_order(std::shared_ptr<const SampleSource> source,
                                             const SampleOrder& order, std::uint64_t seed);

}  // namespace d9d
