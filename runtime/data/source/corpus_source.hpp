#pragma once
// Cuts a row of documents t into samples of S tokens:
// row:      sample i has the inputs t[iS, iS + S) and the labels t[iS + 1, iS + S + 1). The tokens after the
//           last whole sample are left out or become a padded sample (CorpusSourceOptions::rest).
// document: each document is cut like this alone. Its last sample is padded at the end with inputs `pad_id`
//           and labels ignored_label; under causal attention no token sees the padding. A document of one
//           token has no sample.
// packed:   a sample holds several documents, placed as packed_rows.hpp says and padded in the same way. It
//           says where each document begins and which positions are padding.
// With TokenLabels::own the labels are the inputs t[iS, iS + S) themselves, and all tokens are inputs, also the
// last one of a document, the only one, and those after the last whole sample of a row (kept).
// A token that the corpus does not count has the label ignored_label. token_mask
// is false for padding.

#include <memory>
#include <vector>

#include "runtime/data/config/sample_unit.hpp"
#include "runtime/data/corpus/permutation.hpp"
#include "runtime/data/corpus/token_corpus.hpp"
#include "runtime/data/sample_source.hpp"
#include "runtime/data/source/packed_rows.hpp"

namespace d9d {

// What happens to the tokens after the last whole row.
enum class RestOfRows { left_out, filled_up };

// What a job's task needs of the samples of documents.
struct SampleForm {
  RestOfRows rest = RestOfRows::left_out;
  TokenLabels labels = TokenLabels::next;
};

struct CorpusSourceOptions {
  std::int64_t sequence_length = 0;
  SampleUnit samples = SampleUnit::row;
  bool shuffle = false;
  std::uint64_t seed = 0;  // of the shuffled orders
  std::int64_t pad_id = 0;
  std::optional<std::int64_t> vocab_size;
  const char* what = "the text";  // in errors
  SampleForm form{};
};

class CorpusSource : public SampleSource {
 public:
  // Input error: the corpus is too short for one sample.
  CorpusSource(std::shared_ptr<const TokenCorpus> corpus, const CorpusSourceOptions& options);
  std::optional<std::uint64_t> num_samples() const override { return num_samples_; }
  std::uint64_t num_tokens() const { return corpus_->num_tokens(); }
  std::int64_t sequence_length() const override { return options_.sequence_length; }
  std::optional<std::int64_t> vocab_size() const override { return options_.vocab_size; }
  Sample at(std::uint64_t index) const override;
  // The number of tokens of a sample, where a sample is a document.
  std::optional<std::int64_t> sort_key(std::uint64_t index) const override;
  std::vector<RowPlace> places_of(std::uint64_t index) const override;
  std::optional<Scanned> scan_ids(const ScanLimits& limits) const override;

 private:
  std::vector<DocumentPieces::Piece> pieces_at(std::uint64_t index) const;
  void add(const DocumentPieces::Piece& piece, Sample& sample) const;
  DocumentPieces::Piece row(std::uint64_t item) const;

  const std::shared_ptr<const TokenCorpus> corpus_;
  const CorpusSourceOptions options_;
  const std::optional<DocumentPieces> pieces_;  // where a sample is a document
  const std::optional<PackedRows> packed_;      // where it is several
  const std::uint64_t num_samples_;
  const EpochOrder order_;
};

}  // namespace d9d
