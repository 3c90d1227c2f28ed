#pragma once
// Documents in memory, for text that this process has tokenised.

#include <vector>

#include "runtime/data/corpus/document_places.hpp"
#include "runtime/data/corpus/token_corpus.hpp"

namespace d9d {

// Token ids in as few bytes as the vocabulary allows: 2 up to 65536 ids, else 4.
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

class MemoryCorpus final : public TokenCorpus {
 public:
  explicit MemoryCorpus(std::int64_t vocab_size) : row_(vocab_size) {}
  void add_document(std::span<const std::int32_t> ids);
  // Adds the place of the next document. Call it for all documents or for none.
  void add_place(const RowPlace& place) { places_.add(place); }

  std::uint64_t num_tokens() const override { return row_.size(); }
  std::uint64_t num_documents() const override { return begins_.size(); }
  std::uint64_t begin_of(std::uint64_t document) const override;
  void read(std::uint64_t first, std::span<std::int64_t> out) const override { row_.read(first, out); }
  std::optional<RowPlace> place_of(std::uint64_t document) const override { return places_.at(document); }

 private:
  TokenRow row_;
  std::vector<std::uint64_t> begins_;
  DocumentPlaces places_;
};

}  // namespace d9d
