#pragma once
// Selects the modules to which a method of fine-tuning applies.

#include <regex>
#include <string>
#include <string_view>

namespace d9d {

// Whether `path` is `names` or ends with them as whole names: "layers.0.mlp.up_proj" with "mlp.up_proj".
bool ends_with_names(std::string_view path, std::string_view names);

class ModulePattern {
 public:
  // `text`: an ECMAScript regular expression. Input error when it is none.
  explicit ModulePattern(const std::string& text);

  // Whether the pattern matches the whole path of a module ("model.layers.0.self_attn.q_proj").
  bool matches(const std::string& path) const { return std::regex_match(path, expression_); }

 private:
  std::regex expression_;
};

}  // namespace d9d
