#pragma once
// Keeps token ids on disk. Each set of texts has a sub-folder of data.cache, named by a digest of
// what its ids depend on (tokenizer.json, the texts, the keys that choose documents). It holds
// tokens.bin and tokens.idx in Megatron's format, tokens.rows with the row of each document
// (missing in older folders), and tokens.counted if some tokens do not count in the loss. A folder
// appears whole, by a rename, so any number of processes and hosts may make and read it at once.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "runtime/data/source/text/token_recipe.hpp"

namespace d9d {

// Returns null if data.cache has no ids for these texts. Reads every text once to compute
// the digest, unless prepare_tokens() has noted it and the file's length and time of
// change are the same.
std::shared_ptr<const TokenCorpus> find_tokens(const TokenRecipe& recipe);

// Returns the documents of `recipe.rows`. Their ids are mapped if the cache has them; else they are made, with a
// warning if there is a cache without them.
std::shared_ptr<const TokenCorpus> corpus_of(const TokenRecipe& recipe, const Clock& clock = SystemClock());

struct PreparedTokens {
  std::string prefix;  // path of the .bin and .idx files without ending
  bool made = false;   // false: they were there
};
// Makes the ids unless they are there. `recipe.cache` must be set. Errors as recipe.make, and
// environment errors where a file cannot be written.
using TokenProgress = std::function<void(std::uint64_t bytes, std::uint64_t of)>;
PreparedTokens prepare_tokens(const TokenRecipe& recipe, const TokenProgress& progress);

}  // namespace d9d
