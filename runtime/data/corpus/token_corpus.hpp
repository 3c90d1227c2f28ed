#pragma once
// Documents of token ids, one after the other in one row. Immutable; any number of threads may read.

#include <cstdint>
#include <optional>
#include <span>

#include "runtime/data/file/row_place.hpp"

namespace d9d {

class TokenCorpus {
 public:
  virtual ~TokenCorpus() = default;
  virtual std::uint64_t num_tokens() const = 0;
  virtual std::uint64_t num_documents() const = 0;
  // The token of the row that document `document` begins
  // with; num_tokens() for the number after the last one.
  virtual std::uint64_t begin_of(std::uint64_t document) const = 0;
  // Tokens [first, first + out.size()) of the row. Input error for ids that the model does not have.
  virtual void read(std::uint64_t first, std::span<std::int64_t> out) const = 0;
  // Whether a model is trained to predict this token of the row.
  virtual bool counts(std::uint64_t /*token*/) const { return true; }
  // The row of a file that a document was, where the corpus knows it; its file's name lives as long as the corpus.
  virtual std::optional<RowPlace> place_of(std::uint64_t /*document*/) const { return std::nullopt; }
  // Whether ids are known to be the model's only when they are read.
  virtual bool has_unchecked_ids() const { return false; }
};

}  // namespace d9d
