#pragma once
// Patterns of tensor names in conversion rules. `{layer}` matches any text without a dot and gives
// it a name; `{rest*}` also matches dots; `*` matches any text without naming it. A rule that makes
// names replaces each placeholder by the text that it has matched.

#include <map>
#include <optional>
#include <regex>
#include <set>
#include <string>
#include <vector>

namespace d9d {

class NamePattern {
 public:
  using Captures = std::map<std::string, std::string>;

  // Input error: the pattern is empty, has an unmatched brace, or has a name twice.
  explicit NamePattern(const std::string& text);

  const std::string& text() const { return text_; }
  // The names in braces, without the star.
  const std::set<std::string>& placeholders() const { return placeholders_; }
  // Returns the text of each placeholder in `name`; nothing if the name does not match.
  std::optional<Captures> match(const std::string& name) const;
  // The name with every placeholder replaced. An input error for a pattern with a nameless `*`, or with a
  // placeholder that `captures` lacks.
  std::string fill(const Captures& captures) const;

 private:
  struct Part {
    std::string literal;  // empty: a placeholder
    std::string placeholder;
    bool any = false;  // dots, too
  };

  std::string text_;
  std::vector<Part> parts_;
  std::set<std::string> placeholders_;
  std::regex regex_;
};

}  // namespace d9d
