#include "runtime/tokenizer/train/bpe_trainer.hpp"

#include <algorithm>
#include <array>
#include <queue>
#include <unordered_map>

#include "runtime/base/error.hpp"
#include "runtime/tokenizer/characters/byte_alphabet.hpp"
#include "runtime/tokenizer/characters/utf8.hpp"

namespace d9d {
namespace {

using BpeMerge = TrainedBpe::Merge;
using WordPlaces = std::vector<std::uint32_t>;  // numbers of words

constexpr std::size_t num_byte_values = 256;

std::uint64_t pair_key(std::uint32_t first, std::uint32_t second) {
  return std::uint64_t{first} << 32 | second;
}

// A pair that may be merged next, with the words that had it when it was found.
struct MergeCandidate {
  std::int64_t count = 0;
  std::uint64_t pair = 0;
  WordPlaces places;

  bool operator<(const MergeCandidate& other) const {
    return count != other.count ? count < other.count : pair > other.pair;
  }
};

class GrowingVocabulary {
 public:
  std::uint32_t add(const std::string& token) {
    const auto [at, is_new] = ids_.emplace(token, static_cast<std::uint32_t>(tokens_.size()));
    if (is_new) tokens_.push_back(token);
    return at->second;
  }
  const std::string& text(std::uint32_t id) const { return tokens_[id]; }
  std::size_t size() const { return tokens_.size(); }
  std::vector<std::string> take() { return std::move(tokens_); }

 private:
  std::vector<std::string> tokens_;
  std::unordered_map<std::string, std::uint32_t> ids_;
};

// The ids of the 256 bytes, which get theirs in the order of their characters.
std::array<std::uint32_t, num_byte_values> add_bytes(GrowingVocabulary& vocabulary) {
  std::vector<std::pair<char32_t, std::uint8_t>> alphabet;
  for (std::size_t byte = 0; byte < num_byte_values; ++byte) {
    alphabet.emplace_back(byte_character(static_cast<std::uint8_t>(byte)), static_cast<std::uint8_t>(byte));
  }
  std::ranges::sort(alphabet);
  std::array<std::uint32_t, num_byte_values> ids{};
  for (const auto& [character, byte] : alphabet) {
    std::string token;
    append_utf8(token, character);
    ids[byte] = vocabulary.add(token);
  }
  return ids;
}

class PairMerger {
 public:
  PairMerger(const WordCounts& words, const BpeTraining& training) : training_(training) {
    for (const std::string& token : training.special_tokens) vocabulary_.add(token);
    const auto ids = add_bytes(vocabulary_);
    for (const auto& [word, count] : words.counts()) {
      words_.push_back({symbols_.size(), word.size(), static_cast<std::int64_t>(count)});
      for (const char byte : word) symbols_.push_back(ids[static_cast<std::uint8_t>(byte)]);
    }
    for (std::uint32_t i = 0; i < words_.size(); ++i) {
      const std::uint32_t* symbols = symbols_of(i);
      for (std::size_t k = 1; k < words_[i].length; ++k) change(symbols[k - 1], symbols[k], 1, i);
    }
    offer_found();
  }

  TrainedBpe train() {
    while (static_cast<std::int64_t>(vocabulary_.size()) < training_.vocab_size && !candidates_.empty()) {
      MergeCandidate best = candidates_.top();
      candidates_.pop();
      const std::int64_t count = counts_.at(best.pair);
      if (best.count != count) {  // other merges took some of it
        best.count = count;
        candidates_.push(std::move(best));
        continue;
      }
      if (count < std::max<std::int64_t>(training_.min_frequency, 1)) break;
      merge(best);
    }
    return result();
  }

 private:
  struct Word {
    std::size_t begin;
    std::size_t length;
    std::int64_t count;
  };

  std::uint32_t* symbols_of(std::uint32_t word) { return symbols_.data() + words_[word].begin; }

  // `sign` more of a pair in each occurrence of the word.
  void change(std::uint32_t first, std::uint32_t second, int sign, std::uint32_t word) {
    const std::uint64_t pair = pair_key(first, second);
    counts_[pair] += sign * words_[word].count;
    if (sign < 0) return;
    WordPlaces& places = found_[pair];
    if (places.empty() || places.back() != word) places.push_back(word);
  }

  void offer_found() {
    for (auto& [pair, places] : found_) {
      const std::int64_t count = counts_.at(pair);
      if (count > 0) candidates_.push({count, pair, std::move(places)});
    }
    found_.clear();
  }

  void merge(const MergeCandidate& candidate) {
    const BpeMerge pair{static_cast<std::uint32_t>(candidate.pair >> 32),
                        static_cast<std::uint32_t>(candidate.pair)};
    // Two ways to cut one token give one id.
    const std::uint32_t token = vocabulary_.add(vocabulary_.text(pair.first) + vocabulary_.text(pair.second));
    merges_.push_back(pair);
    for (const std::uint32_t word : candidate.places) merge_in(word, pair, token);
    offer_found();
  }

  void merge_in(std::uint32_t word, BpeMerge pair, std::uint32_t token) {
    std::uint32_t* symbols = symbols_of(word);
    const std::size_t length = words_[word].length;
    std::size_t end = 0;  // of what is rewritten
    for (std::size_t k = 0; k < length; ++k) {
      if (symbols[k] != pair.first || k + 1 == length || symbols[k + 1] != pair.second) {
        symbols[end++] = symbols[k];
        continue;
      }
      if (end > 0) {
        change(symbols[end - 1], pair.first, -1, word);
        change(symbols[end - 1], token, 1, word);
      }
      if (k + 2 < length) {
        change(pair.second, symbols[k + 2], -1, word);
        change(token, symbols[k + 2], 1, word);
      }
      symbols[end++] = token;
      ++k;
    }
    words_[word].length = end;
  }

  // A pair that was merged twice, because its token came about in two ways, stands where it was merged last.
  TrainedBpe result() {
    TrainedBpe trained{vocabulary_.take(), {}, 0};
    std::unordered_map<std::uint64_t, std::size_t> last;
    for (std::size_t i = 0; i < merges_.size(); ++i) last[pair_key(merges_[i].first, merges_[i].second)] = i;
    for (std::size_t i = 0; i < merges_.size(); ++i) {
      if (last.at(pair_key(merges_[i].first, merges_[i].second)) == i) trained.merges.push_back(merges_[i]);
    }
    for (const Word& word : words_)
      trained.num_tokens += word.length * static_cast<std::uint64_t>(word.count);
    return trained;
  }

  const BpeTraining& training_;
  GrowingVocabulary vocabulary_;
  std::vector<std::uint32_t> symbols_;  // of all words, one after the other
  std::vector<Word> words_;
  std::unordered_map<std::uint64_t, std::int64_t> counts_;
  std::unordered_map<std::uint64_t, WordPlaces> found_;  // since the last offer_found()
  std::priority_queue<MergeCandidate> candidates_;
  std::vector<BpeMerge> merges_;
};

}  // namespace

TrainedBpe train_bpe(const WordCounts& words, const BpeTraining& training) {
  const std::size_t least = num_byte_values + training.special_tokens.size();
  D9D_REQUIRE(training.vocab_size >= static_cast<std::int64_t>(least),
              "a vocabulary of {} tokens is too small: the 256 bytes and the special tokens need {}; give at "
              "least so many",
              training.vocab_size, least);
  return PairMerger(words, training).train();
}

}  // namespace d9d
