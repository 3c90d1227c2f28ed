#pragma once
// Byte pair encoding of one word: the pair of neighbours that was learnt first is merged first, leftmost
// first, until no neighbours form a known pair. Sennrich et al., "Neural machine translation of rare words
// with subword units", 2016, section 3.2.

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "runtime/tokenizer/model/token_model.hpp"

namespace d9d {

struct Merge {
  static constexpr std::uint32_t unknown_rank = 0xFFFFFFFF;
  std::uint32_t rank = unknown_rank;  // unknown_rank: the pair is not known
  std::int32_t merged = -1;
};

// (left id, right id) -> (rank, merged id): open addressing with linear probing, at most half full.
class MergeTable {
 public:
  explicit MergeTable(std::size_t pairs = 0)
      : shift_(64 - std::bit_width(2 * pairs | 7)), slots_(std::size_t{1} << (64 - shift_)) {}

  // Sets the merge of a pair; replaces an earlier one.
  void put(std::int32_t left, std::int32_t right, Merge merge) {
    slot(key_of(left, right)) = {key_of(left, right), merge};
  }

  Merge find(std::int32_t left, std::int32_t right) const {
    const std::uint64_t key = key_of(left, right);
    for (std::size_t i = key * hash_multiplier >> shift_;; i = (i + 1) & (slots_.size() - 1)) {
      if (slots_[i].key == key) return slots_[i].merge;
      if (slots_[i].key == empty_slot) return {};
    }
  }

 private:
  static constexpr std::uint64_t empty_slot = ~std::uint64_t{0};  // ids are not negative
  static constexpr std::uint64_t hash_multiplier =
      0x9E3779B97F4A7C15ULL;  // Knuth, vol. 3, 6.4: multiplicative hashing
  struct Slot {
    std::uint64_t key = empty_slot;
    Merge merge;
  };

  static std::uint64_t key_of(std::int32_t left, std::int32_t right) {
    return std::uint64_t{static_cast<std::uint32_t>(left)} << 32 | static_cast<std::uint32_t>(right);
  }

  Slot& slot(std::uint64_t key) {
    std::size_t i = key * hash_multiplier >> shift_;
    while (slots_[i].key != key && slots_[i].key != empty_slot) i = (i + 1) & (slots_.size() - 1);
    return slots_[i];
  }

  int shift_;
  std::vector<Slot> slots_;
};

class BpeModel final : public TokenModel {
 public:
  BpeModel(const JsonSection& section, bool byte_level);

  // Parts outside the vocabulary become the unknown token, or nothing where there is none.
  void encode(std::string_view word, ModelScratch& scratch, std::vector<std::int32_t>& ids) const override;

 private:
  // The place of a unit in the word: the first unit has no prefix, the last one has the suffix.
  struct Place {
    bool first;
    bool last;
    std::size_t index() const { return (first ? 1U : 0U) | (last ? 2U : 0U); }
  };
  std::string unit_token(std::string_view unit, Place place) const;
  void read_merges(const JsonSection& section);
  void read_units();
  void read_whole_words();
  std::optional<std::int32_t> unit_id(std::string_view unit, Place place, ModelScratch& scratch) const;
  void split_units(std::string_view word, ModelScratch& scratch) const;
  void add_unit(std::string_view unit, std::optional<std::int32_t> id, bool& unknown_open,
                ModelScratch& scratch) const;
  void merge_short(ModelScratch& scratch) const;
  void merge_long(ModelScratch& scratch) const;
  void propose(ModelScratch& scratch, std::int32_t position) const;

  using ByteIds = std::array<std::int32_t, 256>;
  const bool byte_level_;
  const std::string prefix_;  // of every unit but the first; mostly empty
  const std::string suffix_;  // of the last unit; mostly empty
  bool ignore_merges_ = false;
  bool fuse_unknown_ = false;
  bool byte_fallback_ = false;
  std::optional<std::int32_t> unknown_;
  Vocabulary whole_words_;             // as words come in; only with ignore_merges
  std::array<ByteIds, 4> unit_ids_{};  // by Place and byte (without byte level: below 0x80); -1: none
  ByteIds fallback_ids_{};             // of <0x00> to <0xFF>; -1: none
  MergeTable merges_;
};

}  // namespace d9d
