#pragma once
// Documents in memory of which only some tokens count in the loss.

#include <vector>

#include "runtime/data/corpus/memory_corpus.hpp"

namespace d9d {

class CountedCorpus final : public TokenCorpus {
 public:
  explicit CountedCorpus(std::int64_t vocab_size) : tokens_(vocab_size) {}
  // `counted` is as long as `ids`.
  void add_document(std::span<const std::int32_t> ids, const std::vector<bool>& counted) {
    tokens_.add_document(ids);
    counted_.insert(counted_.end(), counted.begin(), counted.end());
  }

  void add_place(const RowPlace& place) { tokens_.add_place(place); }

  std::uint64_t num_tokens() const override { return tokens_.num_tokens(); }
  std::uint64_t num_documents() const override { return tokens_.num_documents(); }
  std::uint64_t begin_of(std::uint64_t document) const override { return tokens_.begin_of(document); }
  void read(std::uint64_t first, std::span<std::int64_t> out) const override { tokens_.read(first, out); }
  bool counts(std::uint64_t token) const override { return counted_[token]; }
  std::optional<RowPlace> place_of(std::uint64_t document) const override {
    return tokens_.place_of(document);
  }

 private:
  MemoryCorpus tokens_;
  std::vector<bool> counted_;
};

}  // namespace d9d
