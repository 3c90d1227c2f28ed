#pragma once
// Documents of token ids, one after the other in one long row of tokens. Immutable; any number
// of threads may read.

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
  // The number of the row's token with which `document` begins; num_tokens() for the number
  // after the last document.
  virtual std::uint64_t begin_of(std::uint64_t document) const = 0;
  // Reads tokens [first, first + out.size()) of the row. Input error for ids that the
  // model does not have.
  virtual void read(std::uint64_t first, std::span<std::int64_t> out) const = 0;
  // Whether a model is trained to predict this token of the row.
  virtual bool counts(std::uint64_t /*token*/) const { return true; }
  // The row of a file that the document was made of; nothing where the corpus does not know it. The
  // file's name lives as long as the corpus.
  virtual std::optional<RowPlace> place_of(std::uint64_t /*document*/) const { return std::nullopt; }
  // Whether ids are compared with the model's vocabulary only when they are read.
  virtual bool has_unchecked_ids() const { return false; }
};

}  // namespace d9d
