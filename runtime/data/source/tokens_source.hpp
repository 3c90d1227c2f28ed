#pragma once
// Samples from .npy files made by somebody else. `tokens` has integers [samples, length], mapped.
// Further files of the same shape may say more:
//   labels          already shifted, -100 is ignored; sample i is row i of both. Without it the label of a
//                   position is the token after it, and the last position has none
//   position_ids    a row holds several documents, each of which begins at a position 0; the last token of
//                   each has no label
//   targets         floats; they become the sample's numbers `targets`, and a label only says whether there
//                   is a target
//   attention_mask  padding, at either end of a row: it has no label, counts as no token, and tokens do not
//                   see it; positions count from the first token

#include "runtime/data/config/data_config.hpp"
#include "runtime/data/corpus/permutation.hpp"
#include "runtime/data/file/npy.hpp"
#include "runtime/data/sample_source.hpp"

namespace d9d {

class TokensSource final : public SampleSource {
 public:
  // Input errors: wrong shapes or dtypes. `ids_below` is the size of the model's vocabulary,
  // where it is known: an id or label beyond it is an input error with file, row and position
  // when it is read. `config.seed` chooses the shuffled orders; a missing seed counts as 0
  // (build_source() fills it in).
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
  // Reads row `row` of `array` and checks it; errors call an element `what`.
  void read_row(const NpyArray& array, std::int64_t row, const char* what,
                std::vector<std::int64_t>& out) const;
  // Reads the targets of a row into the sample's numbers `targets`, with label 0
  // where there is one.
  void read_targets(std::int64_t row, Sample& sample) const;
  // Returns where the documents of a row begin.
  std::vector<std::int64_t> read_starts(std::int64_t row) const;

  // Marks the padding of the row and removes its labels.
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
