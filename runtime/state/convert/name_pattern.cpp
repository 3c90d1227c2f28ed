#include "runtime/state/convert/name_pattern.hpp"

#include "runtime/base/error.hpp"

namespace d9d {
namespace {

std::string escaped(const std::string& literal) {
  std::string text;
  for (const char c : literal) {
    if (std::string("\\^$.|?*+()[]{}").find(c) != std::string::npos) text += '\\';
    text += c;
  }
  return text;
}

}  // namespace

NamePattern::NamePattern(const std::string& text) : text_(text) {
  D9D_REQUIRE(!text.empty(), "a pattern of tensor names is empty; `*` is every name");
  std::string expression, literal;
  const auto end_literal = [&] {
    if (!literal.empty()) parts_.push_back({literal, "", false});
    expression += escaped(literal);
    literal.clear();
  };
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] != '{' && text[at] != '*' && text[at] != '}') {
      literal += text[at];
      continue;
    }
    end_literal();
    Part part{"", "", true};
    if (text[at] != '*') {
      const auto end = text.find_first_of("{}", at + 1);
      D9D_REQUIRE(text[at] == '{' && end != std::string::npos && text[end] == '}',
                  "pattern {}: a brace has no partner; write {{layer}}", text);
      part.placeholder = text.substr(at + 1, end - at - 1);
      part.any = part.placeholder.ends_with('*');
      if (part.any) part.placeholder.pop_back();
      D9D_REQUIRE(!part.placeholder.empty() && part.placeholder.find('*') == std::string::npos,
                  "pattern {}: a placeholder is a name in braces, such as {{layer}} or {{rest*}}", text);
      D9D_REQUIRE(placeholders_.insert(part.placeholder).second,
                  "pattern {}: {{{}}} stands in it twice; use two names", text, part.placeholder);
      at = end;
    }
    expression += part.any ? "(.*)" : "([^.]+)";
    parts_.push_back(part);
  }
  end_literal();
  regex_ = std::regex(expression, std::regex::ECMAScript | std::regex::optimize);
}

std::optional<NamePattern::Captures> NamePattern::match(const std::string& name) const {
  std::smatch found;
  if (!std::regex_match(name, found, regex_)) return {};
  Captures captures;
  std::size_t group = 0;
  for (const Part& part : parts_) {
    if (!part.literal.empty()) continue;
    ++group;
    if (!part.placeholder.empty()) captures[part.placeholder] = found[group].str();
  }
  return captures;
}

std::string NamePattern::fill(const Captures& captures) const {
  std::string name;
  for (const Part& part : parts_) {
    D9D_REQUIRE(!part.literal.empty() || !part.placeholder.empty(),
                "pattern {}: `*` has no name that could be filled in; write {{rest*}} on both sides", text_);
    if (!part.literal.empty()) {
      name += part.literal;
      continue;
    }
    const auto found = captures.find(part.placeholder);
    D9D_REQUIRE(found != captures.end(), "pattern {}: nothing says what {{{}}} is", text_, part.placeholder);
    name += found->second;
  }
  return name;
}

}  // namespace d9d
