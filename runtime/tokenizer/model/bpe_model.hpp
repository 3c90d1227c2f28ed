#pragma once
// Byte pair encoding of one word: the pair of neighbours that was learnt first is merged first, leftmost
// first, until no neighbours form a known pair. Sennrich et al., "Neural machine translation of rare words
// with subword units", 2016, section 3.2.

#include <array>
#include <optional>

#include "runtime/tokenizer/model/merge_table.hpp"
#include "runtime/tokenizer/model/token_model.hpp"

namespace d9d {

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
