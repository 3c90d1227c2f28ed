#pragma once
// Text for pictures (SVG) and pages (HTML).

#include <string>
#include <string_view>

namespace d9d {

// What XML and HTML show as `text`, also within quotes. Control characters but newlines become blanks: XML has none.
std::string xml_text(std::string_view text);

}  // namespace d9d
