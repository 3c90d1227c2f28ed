#pragma once
// Samples of a row of documents t, of S tokens each.
// row:      sample i has the inputs t[iS, iS + S) and the labels t[iS + 1, iS + S + 1). What is left after
//           the last whole sample is not used.
// document: the same of each document alone; its last sample is filled up at its end with inputs `pad_id` and
//           labels ignored_label. Under causal attention no token sees them. A document of one token has no
//           sample.

#include <memory>
#include <vector>

#include "runtime/data/corpus/token_corpus.hpp"
#include "runtime/data/sample_source.hpp"
#include "runtime/data/sample_unit.hpp"
#include "runtime/data/source/permutation.hpp"

namespace d9d {

struct CorpusSourceOptions {
  std::int64_t sequence_length = 0;
  SampleUnit samples = SampleUnit::row;
  bool shuffle = false;
  std::uint64_t seed = 0;  // of the shuffled orders
  std::int64_t pad_id = 0;
  std::optional<std::int64_t> vocab_size;
  const char* what = "the text";  // in errors
};

// Which piece of which document a sample is. Memory: 8 bytes for 64 documents.
class DocumentPieces {
 public:
  DocumentPieces(const TokenCorpus& corpus, std::uint64_t length);
  std::uint64_t count() const { return count_; }

  struct Piece {
    std::uint64_t begin = 0;   // token of the row
    std::uint64_t tokens = 0;  // inputs; the labels reach one further
  };
  Piece at(std::uint64_t index) const;

 private:
  std::uint64_t of_document(std::uint64_t document) const;

  const TokenCorpus& corpus_;
  const std::uint64_t length_;
  std::vector<std::uint64_t> before_;  // pieces before each 64th document
  std::uint64_t count_ = 0;
};

class CorpusSource final : public SampleSource {
 public:
  // Input error when the corpus is too short for a sample.
  CorpusSource(std::shared_ptr<const TokenCorpus> corpus, const CorpusSourceOptions& options);
  std::optional<std::uint64_t> num_samples() const override { return num_samples_; }
  std::int64_t sequence_length() const override { return options_.sequence_length; }
  std::optional<std::int64_t> vocab_size() const override { return options_.vocab_size; }
  Sample at(std::uint64_t index) const override;
  std::optional<Scanned> scan_ids(const ScanLimits& limits) const override;

 private:
  const std::shared_ptr<const TokenCorpus> corpus_;
  const CorpusSourceOptions options_;
  const std::optional<DocumentPieces> pieces_;  // where a sample is a document
  const std::uint64_t num_samples_;
  const EpochOrder order_;
};

}  // namespace d9d
