#pragma once
// Mixes several sources by weight. Sample i is the next unread sample of the part whose turn it is
// (interleave.hpp). So each part is read in its own order, and no sample is lost or read twice,
// however many ranks read.

#include <memory>
#include <vector>

#include "runtime/data/sample_source.hpp"
#include "runtime/data/source/order/interleave.hpp"

namespace d9d {

struct WeightedSource {
  double weight = 0;
  std::shared_ptr<const SampleSource> source;
  std::optional<std::uint64_t> end;  // samples it has, epochs included; none: endless
};

class MixtureSource final : public SampleSource {
 public:
  // Input errors: no parts, parts with samples of different lengths, a weight that is too small.
  explicit MixtureSource(std::vector<WeightedSource> parts);
  // The number of samples before the first turn of a part that has no sample left.
  std::optional<std::uint64_t> num_samples() const override { return num_samples_; }
  std::int64_t sequence_length() const override { return parts_.front().source->sequence_length(); }
  std::optional<std::int64_t> vocab_size() const override;
  Sample at(std::uint64_t index) const override;
  std::optional<std::int64_t> sort_key(std::uint64_t index) const override;
  std::vector<RowPlace> places_of(std::uint64_t index) const override;
  std::optional<Scanned> scan_ids(const ScanLimits& limits) const override;

 private:
  const std::vector<WeightedSource> parts_;
  const Interleave order_;
  const std::optional<std::uint64_t> num_samples_;
};

}  // namespace d9d
