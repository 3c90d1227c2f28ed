#pragma once

// JSON as text and back. nlohmann's parser and writer are templates that cost each source file a second of the compiler
// or two; here they are compiled once.

#include <iosfwd>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

namespace d9d {

// On one line, or with `indent` spaces a level. Throws nlohmann's type_error where a text is not UTF-8: for what is
// read again, in which a replaced character would be a change.
std::string json_text(const nlohmann::json& json, int indent = -1);
std::string json_text(const nlohmann::ordered_json& json, int indent = -1);

// For what people read: bytes that are not UTF-8 become U+FFFD. Does not throw.
std::string shown_json(const nlohmann::json& json, int indent = -1);
std::string shown_json(const nlohmann::ordered_json& json, int indent = -1);

// `Json` is nlohmann::json or nlohmann::ordered_json. Throws nlohmann's parse_error, which names line and column.
template <class Json>
Json parse_json(std::string_view text);

// Where `text` is no JSON, a value that is_discarded().
template <class Json>
Json try_parse_json(std::string_view text);
template <class Json>
Json try_parse_json(std::istream& text);

}  // namespace d9d
