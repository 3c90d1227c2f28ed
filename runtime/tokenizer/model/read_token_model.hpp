#pragma once
// Makes the model of tokenizer.json that its type names.

#include "runtime/tokenizer/model/token_model.hpp"

namespace d9d {

// `byte_level`: words are raw bytes and the vocabulary is in the byte-level alphabet (BPE only).
// Input error: a kind that is not known.
std::unique_ptr<const TokenModel> read_token_model(const JsonSection& section, bool byte_level);

}  // namespace d9d
