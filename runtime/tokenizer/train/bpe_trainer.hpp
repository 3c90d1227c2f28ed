#pragma once
// Trains a byte-level BPE (Sennrich, Haddow, Birch 2016, "Neural machine translation of rare words
// with subword units"): the most frequent pair of neighbours becomes a token, again and again.
// Tokens, ids and merges equal those of the `tokenizers` library's BpeTrainer with the byte-level
// alphabet: among equally frequent pairs the one with the smaller ids comes first.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "runtime/tokenizer/train/word_counts.hpp"

namespace d9d {

struct BpeTraining {
  std::int64_t vocab_size = 0;     // includes special tokens and the 256 bytes
  std::int64_t min_frequency = 2;  // a pair that is rarer becomes no token
  std::vector<std::string> special_tokens;
};

struct TrainedBpe {
  using Merge = std::pair<std::uint32_t, std::uint32_t>;
  std::vector<std::string> tokens;  // by id, in the byte-level alphabet; the special ones first
  std::vector<Merge> merges;        // in the order of learning
  std::uint64_t num_tokens = 0;     // of the whole text, in these tokens
};

// Returns fewer tokens than asked for if no further pair is frequent enough. Input error:
// `vocab_size` is too small for the 256 bytes and the special tokens.
TrainedBpe train_bpe(const WordCounts& words, const BpeTraining& training);

}  // namespace d9d
