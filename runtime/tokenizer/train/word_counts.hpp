#pragma once
// Counts the words of texts, cut as GPT-2's ByteLevel cuts them: the input for training
// a tokenizer. One thread.

#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <unordered_map>

#include "runtime/tokenizer/codec/pre_tokenizer.hpp"

namespace d9d {

// The section of tokenizer.json that cuts texts so, or that joins tokens again.
nlohmann::ordered_json byte_level(bool add_prefix_space);

class WordCounts {
 public:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view word) const { return std::hash<std::string_view>{}(word); }
  };
  using Counts = std::unordered_map<std::string, std::uint64_t, Hash, std::equal_to<>>;  // by a word's bytes

  WordCounts();
  // Counts a text line by line, each with its line end, as the `tokenizers` library reads files.
  // Input error with the byte if the text is not UTF-8; nothing of it is counted then.
  void add(std::string_view text);

  const Counts& counts() const { return counts_; }
  std::uint64_t bytes() const { return bytes_; }  // of all texts

 private:
  const PreTokenizer words_;
  PreTokenizerScratch scratch_;
  RegexScratch regex_;
  Counts counts_;
  std::uint64_t bytes_ = 0;
};

}  // namespace d9d
