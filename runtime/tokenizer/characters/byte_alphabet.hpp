#pragma once
// The byte-level alphabet: every byte has one printable character, so that a vocabulary
// of text can hold any bytes. Bytes that print (! to ~, and Latin-1 from 0xA1 without
// 0xAD) stand for themselves; the other 68, in order, are U+0100 and up. Radford et al.,
// "Language models are unsupervised multitask learners" (GPT-2), 2019, section 2.2.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace d9d {

// The character that stands for a byte.
char32_t byte_character(std::uint8_t byte);

// The bytes that a token's characters stand for; nothing when one of them is not of the alphabet.
std::optional<std::string> bytes_of_token(std::string_view token);

}  // namespace d9d
