#pragma once

#include <memory>
#include <string_view>

#include "runtime/tokenizer/codec/text_codec.hpp"
#include "runtime/tokenizer/codec/token_settings.hpp"

namespace d9d {

// Reads a Hugging Face tokenizer.json; ids equal those of the `tokenizers` library. `truncation`
// and `padding` are ignored, as transformers does unless a call asks for them. `where` names the
// file in errors, `settings` are those of its folder. Input error with the section's name: the file
// is damaged or asks for something that is not supported.
std::unique_ptr<const TextCodec> read_json_codec(std::string_view json, std::string_view where,
                                                 const TokenSettings& settings = {});

}  // namespace d9d
