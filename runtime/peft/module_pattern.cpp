#include "runtime/peft/module_pattern.hpp"

#include "runtime/base/error.hpp"

namespace d9d {
namespace {

std::regex compiled(const std::string& text) {
  try {
    return std::regex(text, std::regex::ECMAScript | std::regex::optimize);
  } catch (const std::regex_error& error) {
    throw Error(ErrorKind::input,
                fmt::format("\"{}\" is not a regular expression ({}); `.*` is any text, `\\.` a dot", text,
                            error.what()));
  }
}

}  // namespace

bool ends_with_names(std::string_view path, std::string_view names) {
  if (!path.ends_with(names)) return false;
  path.remove_suffix(names.size());
  return path.empty() || path.ends_with('.');
}

ModulePattern::ModulePattern(const std::string& text) : expression_(compiled(text)) {}

}  // namespace d9d
