#include "runtime/base/xml_text.hpp"

namespace d9d {
namespace {

constexpr char first_printable = ' ';

void append_xml(std::string& out, char c) {
  switch (c) {
    case '&':
      out += "&amp;";
      break;
    case '<':
      out += "&lt;";
      break;
    case '>':
      out += "&gt;";
      break;
    case '"':
      out += "&quot;";
      break;
    case '\'':
      out += "&#39;";
      break;
    default: {
      const bool control = static_cast<unsigned char>(c) < static_cast<unsigned char>(first_printable);
      out += control && c != '\n' ? ' ' : c;
    }
  }
}

}  // namespace

std::string xml_text(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (const char c : text) append_xml(out, c);
  return out;
}

}  // namespace d9d
