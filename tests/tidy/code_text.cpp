#include "tests/tidy/code_text.hpp"

#include <cctype>

namespace d9d::tidy {
namespace {

// The end of the quoted text that begins at `from`, one past its closing quote.
std::size_t end_of_quote(const std::string& line, std::size_t from) {
  const char quote = line[from];
  for (std::size_t at = from + 1; at < line.size(); ++at) {
    if (line[at] == '\\') {
      ++at;
    } else if (line[at] == quote) {
      return at + 1;
    }
  }
  return line.size();
}

// R"(...)" of one line; the tree has no longer ones but in tests.
std::size_t end_of_raw(const std::string& line, std::size_t quote) {
  const std::size_t open = line.find('(', quote);
  const std::string close = ")" + line.substr(quote + 1, open - quote - 1) + "\"";
  const std::size_t end = line.find(close, quote);
  return end == std::string::npos ? line.size() : end + close.size();
}

std::string code_of_line(const std::string& line) {
  std::string code;
  for (std::size_t at = 0; at < line.size();) {
    const bool digit_separator = line[at] == '\'' && at > 0 && is_word(line[at - 1]);
    if (line.compare(at, 2, "//") == 0) break;
    if (line[at] == '"' && at > 0 && line[at - 1] == 'R') {
      at = end_of_raw(line, at);
      code += "\"\"";
    } else if (line[at] == '"' || (line[at] == '\'' && !digit_separator)) {
      at = end_of_quote(line, at);
      code += "\"\"";
    } else {
      code += line[at++];
    }
  }
  return code;
}

}  // namespace

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

std::vector<std::string> code_lines(const Source& source) {
  std::vector<std::string> lines;
  for (const std::string& line : source.lines) lines.push_back(code_of_line(line));
  return lines;
}

std::string code_text(const Source& source) {
  std::string text;
  for (const std::string& line : code_lines(source)) text += line + "\n";
  return text;
}

}  // namespace d9d::tidy
