#pragma once
// The base of a source that is made of another one: it answers all questions by that one's samples.

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "runtime/data/sample_source.hpp"

namespace d9d {

class SourceOver : public SampleSource {
 public:
  std::optional<std::uint64_t> num_samples() const override { return source_->num_samples(); }
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

 protected:
  explicit SourceOver(std::shared_ptr<const SampleSource> source) : source_(std::move(source)) {}
  // Which sample of the other source one of this one is.
  virtual std::uint64_t index_of(std::uint64_t index) const { return index; }

  const std::shared_ptr<const SampleSource> source_;
};

}  // namespace d9d
