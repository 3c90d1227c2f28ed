#pragma once
// What of a source file is code: its text without comments and without what stands in quotes.

#include <string>
#include <vector>

#include "tests/tidy/source_tree.hpp"

namespace d9d::tidy {

// Whether an identifier may have it.
bool is_word(char c);
// Line by line, so that line numbers hold; "\"\"" stands for every string.
std::vector<std::string> code_lines(const Source& source);
// The same as one text, lines ended by '\n'.
std::string code_text(const Source& source);

}  // namespace d9d::tidy
