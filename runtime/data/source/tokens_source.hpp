#pragma once
// Samples from .npy files made by somebody else. `tokens` has integers [samples, length], mapped.
// Further files of the same shape may say more:
//   labels          already shifted, -100 is ignored; sample i is row i of both. Without it the label of a
//                   position is the token after it, and the last position has none; with TokenLabels::own it is
//                   the position's own token
//   position_ids    a row holds several documents, each of which begins at a position 0; the last token of
//                   each has no label
//   targets         floats; they become the sample's numbers `targets`, and a label only says whether there
//                   is a target
//   attention_mask  padding, at either end of a row: it has no label, counts as no token, and tokens do not
//                   see it; positions count from the first token

#include <utility>

#include "runtime/data/config/data_config.hpp"
#include "runtime/data/corpus/permutation.hpp"
#include "runtime/data/file/npy.hpp"
#include "runtime/data/sample_source.hpp"
#include "runtime/data/token_labels.hpp"

namespace d9d {

// What the model of a job takes, where it is known.
struct TokensLimits {
  std::optional<std::int64_t> ids_below{};      // its vocabulary: of tokens, and of labels that are tokens
  std::optional<std::int64_t> classes_below{};  // the labels are classes of its head, so many
};

class TokensSource final : public SampleSource {
 public:
  // Input errors: wrong shapes or dtypes. An odd value of any file is an input error with file, row, position and
  // remedy when it is read, or by scan_ids() before. `config.seed` chooses the shuffled orders; a missing seed counts
  // as 0 (build_source() fills it in).
  explicit TokensSource(const TokensDataConfig& config, TokensLimits limits = {},
                        TokenLabels labels = TokenLabels::next);
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
  // Reads the targets of a row, NaN where there is none, and checks them.
  void read_targets(std::int64_t row, std::vector<float>& targets) const;
  // Returns where the documents of a row begin.
  std::vector<std::int64_t> read_starts(std::int64_t row) const;

  // Reads the mask of a row and checks it. Returns where its tokens begin and end.
  std::pair<std::ptrdiff_t, std::ptrdiff_t> read_mask(std::int64_t row,
                                                      std::vector<std::int64_t>& mask) const;
  // Marks the padding of the row and removes its labels.
  void apply_mask(std::int64_t row, Sample& sample) const;

  const std::string name_;
  const NpyArray tokens_;
  const std::optional<NpyArray> labels_;
  const std::optional<NpyArray> targets_;
  const std::optional<NpyArray> positions_;
  const std::optional<NpyArray> mask_;
  const EpochOrder order_;
  const TokensLimits limits_;
  // Whether a label is the token after its own, which the last one of a document lacks.
  const bool labels_are_next_;
};

}  // namespace d9d
