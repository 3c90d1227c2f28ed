#pragma once
// tokenizer.json writes its patterns for Oniguruma (Ruby syntax);
// we match with PCRE2. The two agree on most, not on all.

#include <string>
#include <string_view>

namespace d9d {

// The same language in PCRE2's dialect (UTF and UCP on): \s, \w, \d, \v, \u, ^, $ and {,n} are rewritten.
// What the two read differently and this cannot rewrite (nested classes, &&, \b, \h, possessive intervals,
// inline options in the middle of a group, ...) is an input error that names the construct.
std::string to_pcre2_dialect(std::string_view pattern);

}  // namespace d9d
