#pragma once
// The original's keys of a model in a job file (reference
// A.7) as Hugging Face's. Input errors begin with `where`.

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "runtime/nn/block/vocabulary_part.hpp"

namespace d9d {

// Moves `from`'s value to Hugging Face's `to`; both at once is one too many.
void rename_key(nlohmann::json& keys, const char* from, const char* to, const std::string& where);
// The keys of `layer` beside the others.
void flatten_layer(nlohmann::json& keys, const std::string& where);
// vocab_size from split_vocab_size and split_vocab_order, and the parts in that order. One part is no other
// model than a vocabulary without parts: then, and without these keys, there are none.
std::vector<VocabularyPart> take_vocabulary(nlohmann::json& keys, const std::string& where);

}  // namespace d9d
