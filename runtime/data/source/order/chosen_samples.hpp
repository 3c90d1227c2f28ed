#pragma once
// A source of some of the samples of another one, in the files' order.

#include <memory>
#include <utility>

#include "runtime/data/corpus/permutation.hpp"
#include "runtime/data/corpus/row_choice.hpp"
#include "runtime/data/sample_source.hpp"

namespace d9d {

class ChosenSamples final : public SampleSource {
 public:
  // `source` must not be endless. Errors as RowChoice.
  ChosenSamples(std::shared_ptr<const SampleSource> source, const RowChoiceConfig& rows, bool shuffle)
      : source_(std::move(source)),
        choice_(source_->num_samples().value(), rows),
        order_(choice_.count(), shuffle, rows.seed) {}
  std::optional<std::uint64_t> num_samples() const override { return choice_.count(); }
  std::int64_t sequence_length() const override { return source_->sequence_length(); }
  std::optional<std::int64_t> vocab_size() const override { return source_->vocab_size(); }
  Sample at(std::uint64_t index) const override { return source_->at(sample_of(index)); }
  std::optional<std::int64_t> sort_key(std::uint64_t index) const override {
    return source_->sort_key(sample_of(index));
  }
  std::vector<RowPlace> places_of(std::uint64_t index) const override {
    return source_->places_of(sample_of(index));
  }
  std::optional<Scanned> scan_ids(const ScanLimits& limits) const override {
    return source_->scan_ids(limits);
  }

 private:
  std::uint64_t sample_of(std::uint64_t index) const { return choice_.row_at(order_.item_at(index)); }

  const std::shared_ptr<const SampleSource> source_;
  const RowChoice choice_;
  const EpochOrder order_;
};

}  // namespace d9d
