#pragma once
// Plain scalars of YAML 1.2's core schema (section 10.3.2).
// Each returns nothing where the text is something else.

#include <cstdint>
#include <optional>
#include <string_view>

namespace d9d::config {

std::optional<bool> boolean_from(std::string_view text);  // true, True, TRUE, false, ...
// [-+]?[0-9]+, 0x and 0o; nothing where it does not fit 64 bits.
std::optional<std::int64_t> integer_from(std::string_view text);
bool looks_integer(std::string_view text);  // also where it does not fit
// Integers too; .inf and .nan.
std::optional<double> number_from(std::string_view text);

}  // namespace d9d::config
