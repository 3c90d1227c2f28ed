// How long things may be: a stop that fails, and an aim that is only told, so that one idea stays in one header.
#include <gtest/gtest.h>

#include <iostream>
#include <regex>

#include "tests/tidy/source_tree.hpp"

namespace d9d::tidy {
namespace {

constexpr std::size_t file_stop = 500;
constexpr std::size_t header_stop = 200;
constexpr std::size_t header_aim = 100;
constexpr std::size_t source_aim = 300;
constexpr std::size_t function_stop = 70;
constexpr std::size_t function_aim = 40;

struct Function {
  std::size_t first = 0;  // line of its opening brace, from 1
  std::size_t lines = 0;  // of its body
};

// What clang-format makes of a function: a line that ends in "{" and the "}" of the same indentation. A
// namespace or a type is not one.
std::vector<Function> functions_of(const Source& source) {
  static const std::regex other(
      R"(^\s*(inline )?(namespace|class|struct|enum|union|extern|const|static|return)\b)");
  std::vector<Function> found;
  for (const std::string indent : {"", "  "}) {
    std::size_t open = 0;
    for (std::size_t i = 0; i < source.lines.size(); ++i) {
      const std::string& line = source.lines[i];
      if (!line.starts_with(indent) || line.size() <= indent.size()) continue;
      const char first = line[indent.size()];
      if (open == 0) {
        const bool opens = line.ends_with(" {") && first != ' ' && first != '/' && first != '}';
        if (opens && !std::regex_search(line, other)) open = i + 1;
      } else if (first == '}') {
        found.push_back({open, i - open});
        open = 0;
      }
    }
  }
  return found;
}

TEST(Sizes, NoFileIsLongerThanTheHardStop) {
  for (const Source& source : sources()) {
    EXPECT_LE(source.lines.size(), file_stop) << source.path << ": part it, one idea to a file";
  }
}

TEST(Sizes, NoHeaderIsLongerThanItsHardStop) {
  for (const Source& source : sources()) {
    if (!source.is_header() || source.path.starts_with("tests/")) continue;
    EXPECT_LE(source.lines.size(), header_stop)
        << source.path << ": move bodies to the .cpp, or part it where it holds two ideas";
  }
}

TEST(Sizes, NoFunctionIsLongerThanTheHardStop) {
  for (const Source& source : sources()) {
    for (const Function& function : functions_of(source)) {
      EXPECT_LE(function.lines, function_stop)
          << source.path << ":" << function.first << ": part it: a function does one thing on one level";
    }
  }
}

TEST(Sizes, TellsWhatIsLongerThanItShouldBe) {
  for (const Source& source : sources()) {
    const std::size_t limit = source.is_header() ? header_aim : source_aim;
    if (source.lines.size() > limit) {
      std::cout << "long: " << source.path << " has " << source.lines.size() << " lines, aim at " << limit
                << "\n";
    }
    for (const Function& function : functions_of(source)) {
      if (function.lines <= function_aim) continue;
      std::cout << "long: the function at " << source.path << ":" << function.first << " has "
                << function.lines << " lines, aim at " << function_aim << "\n";
    }
  }
}

}  // namespace
}  // namespace d9d::tidy
