#pragma once

#include <memory>
#include <string_view>

#include "runtime/tokenizer/codec/text_codec.hpp"
#include "runtime/tokenizer/codec/token_settings.hpp"

namespace d9d {

// A Hugging Face tokenizer.json: the ids that the `tokenizers` library gives. Its `truncation` and `padding`
// are left aside, as transformers does where it is not asked for either. Input error for what is damaged or
// not supported, with the section's name; `where` names the file. `settings` is what stands beside it.
std::unique_ptr<const TextCodec> read_json_codec(std::string_view json, std::string_view where,
                                                 const TokenSettings& settings = {});

}  // namespace d9d
