#pragma once
// Files of text, tokenised and packed: all documents, each followed by the eos token where one is named, make
// one row of tokens t; sample i has the inputs t[iS, iS + S) and the labels t[iS + 1, iS + S + 1). What is
// left after the last whole sample is not used. Tokens are kept in memory (2 bytes each for vocabularies up
// to 65536, else 4), text is not.

#include "runtime/data/data_config.hpp"
#include "runtime/data/sample_source.hpp"
#include "runtime/data/source/permutation.hpp"
#include "runtime/data/tokenizer.hpp"

namespace d9d {

// Token ids in as few bytes as the vocabulary allows.
class TokenRow {
 public:
  explicit TokenRow(std::int64_t vocab_size) : narrow_(vocab_size <= 0x10000) {}
  void append(std::span<const std::int32_t> ids);
  std::size_t size() const { return narrow_ ? ids16_.size() : ids32_.size(); }
  void read(std::size_t first, std::span<std::int64_t> out) const;

 private:
  const bool narrow_;
  std::vector<std::uint16_t> ids16_;
  std::vector<std::int32_t> ids32_;
};

class TextSource final : public SampleSource {
 public:
  // Reads and tokenises everything. Input errors: a file that is missing or not UTF-8, an eos token that the
  // tokenizer does not have, a text too short for one sample, a tokenizer with ids that are not below
  // `ids_below` (found before any text is read).
  // `config.seed` chooses the shuffled orders; none counts as 0 (build_source() fills it in).
  explicit TextSource(const TextDataConfig& config, std::optional<std::int64_t> ids_below = {});
  std::optional<std::uint64_t> num_samples() const override { return num_samples_; }
  std::int64_t sequence_length() const override { return sequence_length_; }
  std::optional<std::int64_t> vocab_size() const override { return vocab_size_; }
  Sample at(std::uint64_t index) const override;

  std::size_t num_tokens() const { return tokens_.size(); }

 private:
  TextSource(const TextDataConfig& config, const Tokenizer& tokenizer);

  const std::int64_t sequence_length_;
  const std::int64_t vocab_size_;
  const TokenRow tokens_;
  const std::uint64_t num_samples_;
  const EpochOrder order_;
};

}  // namespace d9d
