#pragma once
// Samples that were tokenised before: an .npy file of integers [samples, length], mapped. With a labels file
// (same shape, already shifted, -100 ignored) sample i is row i of both. Without, the label of a position is
// the token after it and the last position has none, so the length stays. With a file of positions (same
// shape) a row holds several documents, each from a position 0 on, whose last tokens have no label either. With a file of
// targets (same shape, floats) a sample has these as its numbers `targets`; a label then says whether there is one. With a
// file of attention masks (same shape) what pads a row, on either side, has no label and is no token; tokens do not see it,
// and positions count from the first token.

#include "runtime/data/config/data_config.hpp"
#include "runtime/data/corpus/permutation.hpp"
#include "runtime/data/file/npy.hpp"
#include "runtime/data/sample_source.hpp"

namespace d9d {

class TokensSource final : public SampleSource {
 public:
  // Wrong shapes or dtypes are input errors; ids are checked when they are read. `ids_below`: the model's
  // vocabulary, where it is known; an id or label beyond it is an input error with file, row and position.
  // `config.seed` chooses the shuffled orders; none counts as 0 (build_source() fills it in).
  explicit TokensSource(const TokensDataConfig& config, std::optional<std::int64_t> ids_below = {});
  std::optional<std::uint64_t> num_samples() const override {
    return static_cast<std::uint64_t>(tokens_.shape()[0]);
  }
  std::int64_t sequence_length() const override { return tokens_.shape()[1]; }
  std::optional<std::int64_t> vocab_size() const override { return std::nullopt; }
  Sample at(std::uint64_t index) const override;
  std::vector<RowPlace> places_of(std::uint64_t index) const override {
    return {{name_, order_.item_at(index), false}};
  }
  std::optional<Scanned> scan_ids(const ScanLimits& limits) const override;

 private:
  // Row `row` of `array`, checked; `what` is what an element is called.
  void read_row(const NpyArray& array, std::int64_t row, const char* what,
                std::vector<std::int64_t>& out) const;
  // The targets of a row as the sample's numbers `targets`, with label 0 where there is one.
  void read_targets(std::int64_t row, Sample& sample) const;
  // Where the documents of a row begin.
  std::vector<std::int64_t> read_starts(std::int64_t row) const;

  // Marks what pads the row, and takes its labels.
  void apply_mask(std::int64_t row, Sample& sample) const;

  const std::string name_;
  const NpyArray tokens_;
  const std::optional<NpyArray> labels_;
  const std::optional<NpyArray> targets_;
  const std::optional<NpyArray> positions_;
  const std::optional<NpyArray> mask_;
  const EpochOrder order_;
  const std::optional<std::int64_t> ids_below_;
};

}  // namespace d9d
