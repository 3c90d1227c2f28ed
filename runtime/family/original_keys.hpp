#pragma once
// The original's keys of a model in a job file (reference
// A.7) as Hugging Face's. Input errors begin with `where`.

#include <nlohmann/json.hpp>
#include <string>

namespace d9d {

// Moves `from`'s value to Hugging Face's `to`; both at once is one too many.
void rename_key(nlohmann::json& keys, const char* from, const char* to, const std::string& where);
// The keys of `layer` beside the others.
void flatten_layer(nlohmann::json& keys, const std::string& where);
// vocab_size from split_vocab_size and split_vocab_order.
void join_vocabulary(nlohmann::json& keys, const std::string& where);

}  // namespace d9d
