#pragma once
// Which modules a method of fine-tuning means.

#include <regex>
#include <string>

namespace d9d {

class ModulePattern {
 public:
  // An ECMAScript regular expression. Input error: it is none.
  explicit ModulePattern(const std::string& text);

  // Whether it matches the whole path of a module ("model.layers.0.self_attn.q_proj").
  bool matches(const std::string& path) const { return std::regex_match(path, expression_); }

 private:
  std::regex expression_;
};

}  // namespace d9d
