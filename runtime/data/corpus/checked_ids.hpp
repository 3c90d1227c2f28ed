#pragma once
// Compares ids that were read with the model's vocabulary.

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "runtime/data/corpus/token_corpus.hpp"

namespace d9d {

// Names a token for an error by the row of its document, "a.arrow, row 7: token 3", or as "`name`:
// token 90" where the corpus does not know the row.
std::string place_of_token(const TokenCorpus& corpus, std::uint64_t token, const std::string& name);

// Checks tokens from `first` on. Input error for an id that is negative or not below `ids_below`.
void require_ids(const TokenCorpus& corpus, std::uint64_t first, std::span<const std::int64_t> ids,
                 const std::optional<std::int64_t>& ids_below, const std::string& name);

}  // namespace d9d
