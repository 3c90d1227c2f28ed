#pragma once
// Text for pictures (SVG) and pages (HTML).

#include <string>
#include <string_view>

namespace d9d {

// Escapes a text for XML and HTML, also within quotes. Control characters except newlines become
// spaces, because XML has none.
std::string xml_text(std::string_view text);

}  // namespace d9d
