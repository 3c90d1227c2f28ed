#pragma once
// A plugin's data source, watched: its samples are what they are said to be, and its exceptions name it.

#include <memory>
#include <span>
#include <string>

#include "runtime/data/sample_source.hpp"

namespace d9d {

class PluginSource final : public SampleSource {
 public:
  // `ids_below`: the model's vocabulary, where it is known.
  // `lengths_vary`: samples may be shorter than sequence_length(), because a plugin's collation makes batches of them.
  // Input error for no source, or one without a length.
  PluginSource(std::string name, std::shared_ptr<const SampleSource> inner,
               std::optional<std::int64_t> ids_below, bool lengths_vary = false);
  std::optional<std::uint64_t> num_samples() const override { return num_samples_; }
  std::int64_t sequence_length() const override { return rule_.sequence_length; }
  std::optional<std::int64_t> vocab_size() const override { return inner_->vocab_size(); }
  // Input error for a sample of another length, an id outside the
  // vocabulary, or a label that is neither one nor ignored_label.
  Sample at(std::uint64_t index) const override;
  std::optional<std::int64_t> sort_key(std::uint64_t index) const override;
  bool is_stream() const override { return inner_->is_stream(); }
  bool is_rollouts() const override { return inner_->is_rollouts(); }
  // Both watched in the same way. Of rollouts prompts are looked at, too, and numbers, which must be finite.
  std::shared_ptr<SampleStream> open_stream() const override;
  std::shared_ptr<RolloutStream> open_rollouts() const override;

  // What every sample has to be.
  struct Rule {
    std::string name;
    std::int64_t sequence_length = 0;
    std::optional<std::int64_t> ids_below;
    bool lengths_vary = false;
    void check(const Sample& sample, std::uint64_t index) const;
    void check_ids(std::span<const std::int64_t> ids, std::uint64_t index, const char* whose) const;
    bool is_id(std::int64_t id) const { return id >= 0 && (!ids_below || id < *ids_below); }
    std::string limit() const;  // " and less than 61"; "" without one
  };

 private:
  const std::shared_ptr<const SampleSource> inner_;
  std::optional<std::uint64_t> num_samples_;
  Rule rule_;
};

}  // namespace d9d
