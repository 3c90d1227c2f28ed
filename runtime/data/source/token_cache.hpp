#pragma once
// Token ids made once: a folder in which each set of texts has a folder of its own, named by what the ids are
// made of (tokenizer.json, the texts, and the keys that choose documents), with tokens.bin and tokens.idx in
// Megatron's format, tokens.rows that says of which rows they were made (folders of before have none), and tokens.counted
// where not all of them count in the loss. A folder appears whole, by a rename, so any number of processes and hosts may
// make and read it at once.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "runtime/data/source/token_recipe.hpp"

namespace d9d {

// Null when data.cache holds none for these texts. Reads every text once to know it, unless prepare_tokens()
// has noted what is in it and it has the same length and time of change.
std::shared_ptr<const TokenCorpus> find_tokens(const TokenRecipe& recipe);

struct PreparedTokens {
  std::string prefix;  // of the .bin and .idx file
  bool made = false;   // or they were there
};
// Makes them unless they are there. `recipe.cache` is given. Errors as recipe.make, and environment errors where
// nothing can be written.
using TokenProgress = std::function<void(std::uint64_t bytes, std::uint64_t of)>;
PreparedTokens prepare_tokens(const TokenRecipe& recipe, const TokenProgress& progress);

}  // namespace d9d
