#pragma once
// Translates patterns. tokenizer.json writes them for Oniguruma (Ruby syntax), and this program
// matches with PCRE2; the two differ in some constructs.

#include <string>
#include <string_view>

namespace d9d {

// Returns a pattern of PCRE2 (UTF and UCP on) for the same language: rewrites \s, \w, \d, \v, \u,
// ^, $ and {,n}. Input error that names the construct: one that the two read differently and that
// is not rewritten (nested classes, &&, \b, \h, possessive intervals, inline options in the middle
// of a group, ...).
std::string to_pcre2_dialect(std::string_view pattern);

}  // namespace d9d
