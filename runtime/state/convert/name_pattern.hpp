#pragma once
// Patterns of tensor names in conversion rules. `{layer}` is any text without a dot and has a name; `{rest*}`
// may have dots; `*` is any text without a name. Where a rule makes names, it fills in what it has read.

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

  // An input error for a pattern that is empty, has a brace without its partner or a name twice.
  explicit NamePattern(const std::string& text);

  const std::string& text() const { return text_; }
  // In braces, without the star.
  const std::set<std::string>& placeholders() const { return placeholders_; }
  // What the placeholders stand for in `name`; nothing when it does not match.
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
