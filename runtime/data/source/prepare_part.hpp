#pragma once
// The part of `d9d-node data prepare` that knows the sources.

#include "runtime/data/config/data_parts.hpp"
#include "runtime/data/source/token_cache.hpp"

namespace d9d {

// Makes the token ids of a part in its data.cache unless they are there (prepare_tokens()). Nothing: its source makes no
// ids, or is a chat without a cache. Input error for another one that names none.
std::optional<PreparedTokens> prepare_part(const DataPart& part, const TokenProgress& progress);

}  // namespace d9d
