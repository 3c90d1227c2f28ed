#pragma once
// The part of `d9d-node data prepare` that knows the kinds of sources.

#include "runtime/data/config/data_parts.hpp"
#include "runtime/data/source/text/token_cache.hpp"

namespace d9d {

// Writes the token ids of a part into its data.cache unless they are there (prepare_tokens()).
// Returns nothing if the source makes no ids, or is a chat without a cache. Input error: any other
// source without a cache.
std::optional<PreparedTokens> prepare_part(const DataPart& part, const TokenProgress& progress);

}  // namespace d9d
