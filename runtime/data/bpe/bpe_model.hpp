#pragma once
// Byte pair encoding of one word: the pair of neighbours that was learnt first is merged first, leftmost
// first, until no neighbours form a known pair. Sennrich et al., "Neural machine translation of rare words
// with subword units", 2016, section 3.2. Immutable; each thread brings its scratch.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "runtime/data/bpe/json_section.hpp"
#include "runtime/data/bpe/merge_table.hpp"

namespace d9d {

struct BpeScratch {
  struct Symbol {
    std::int32_t id;
    std::int32_t previous;  // -1: none
    std::int32_t next;      // -1: none
    std::uint32_t rank;     // of the merge with `next` (short words only)
  };
  struct Candidate {
    std::uint32_t rank;
    std::int32_t position;
    std::int32_t merged;
  };
  std::vector<Symbol> symbols;
  std::vector<Candidate> heap;
  std::string units;
};

class BpeModel {
 public:
  // The section `model`. `byte_level`: words come as raw bytes, the vocabulary is in the byte-level alphabet.
  BpeModel(const JsonSection& section, bool byte_level);

  // Appends the ids of one word. Parts outside the vocabulary
  // become the unknown token, or nothing where there is none.
  void encode(std::string_view word, BpeScratch& scratch, std::vector<std::int32_t>& ids) const;

  std::optional<std::int32_t> id_of(std::string_view token) const;
  const std::unordered_map<std::string, std::int32_t>& vocabulary() const { return vocabulary_; }

 private:
  void read_vocabulary(const JsonSection& section);
  void read_merges(const JsonSection& section);
  void read_units();
  void split_units(std::string_view word, BpeScratch& scratch) const;
  void add_unit(std::string_view unit, std::optional<std::int32_t> id, bool& unknown_open,
                BpeScratch& scratch) const;
  void merge_short(BpeScratch& scratch) const;
  void merge_long(BpeScratch& scratch) const;
  void propose(BpeScratch& scratch, std::int32_t position) const;

  const bool byte_level_;
  bool ignore_merges_ = false;
  bool fuse_unknown_ = false;
  bool byte_fallback_ = false;
  std::optional<std::int32_t> unknown_;
  std::unordered_map<std::string, std::int32_t> vocabulary_;   // as written in the file
  std::unordered_map<std::string, std::int32_t> whole_words_;  // as words come in; only with ignore_merges
  std::array<std::int32_t, 256> byte_ids_{};                   // of single bytes; -1: none
  std::array<std::int32_t, 256> fallback_ids_{};               // of <0x00> to <0xFF>; -1: none
  MergeTable merges_;
};

}  // namespace d9d
