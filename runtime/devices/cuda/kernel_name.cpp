#include "runtime/devices/cuda/kernel_name.hpp"

#include <cxxabi.h>

#include <cstdlib>
#include <memory>
#include <string_view>

namespace d9d::cuda {
namespace {

constexpr std::size_t name_max = 160;  // templates of templates fill pages

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
}

// Where the parameters begin: the first parenthesis that no template argument is around.
std::size_t parameters_of(const std::string& name) {
  int depth = 0;
  for (std::size_t at = 0; at < name.size(); ++at) {
    if (name[at] == '<') ++depth;
    if (name[at] == '>' && depth > 0) --depth;
    if (name[at] == '(' && depth == 0) return at;
  }
  return name.size();
}

}  // namespace

std::string kernel_name(const char* symbol) {
  if (symbol == nullptr) return "a kernel without a name";
  int failed = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(
      abi::__cxa_demangle(symbol, nullptr, nullptr, &failed), std::free);
  if (failed != 0 || !text) return symbol;
  std::string name = text.get();
  replace_all(name, "(anonymous namespace)", "{anonymous}");
  name.resize(parameters_of(name));
  replace_all(name, "{anonymous}::", "");
  if (name.starts_with("void ")) name.erase(0, 5);  // what a template returns is told before its name
  if (name.size() > name_max) name = name.substr(0, name_max - 3) + "...";
  return name;
}

}  // namespace d9d::cuda
