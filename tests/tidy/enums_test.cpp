// An enum is never made of another by its number: two lists that must keep one order would be joined by
// nothing that a compiler checks.
#include <gtest/gtest.h>

#include <regex>
#include <set>
#include <string>

#include "tests/tidy/source_tree.hpp"

namespace d9d::tidy {
namespace {

// Names of scoped enums, in code and in messages ("wire::ReduceValues::Operation" ends in one of them).
std::set<std::string> enum_names() {
  const std::regex declaration(R"(^\s*enum (?:class )?([A-Z]\w*))");
  std::set<std::string> names;
  for (const Source* source : sources_under({"actors", "examples", "kernels", "messages", "runtime"})) {
    for (const std::string& line : source->lines) {
      std::smatch match;
      if (line.find("enum ") != std::string::npos && std::regex_search(line, match, declaration)) {
        names.insert(match[1]);
      }
    }
  }
  return names;
}

TEST(Enums, AreNotMadeByAStaticCast) {
  const std::set<std::string> allowed{
      "messages/actor_id.hpp",  // a role out of the bits of a packed id, which are the enum's own numbers
      "runtime/comm/decorators/traced.cpp",  // counts through all operations, to name each one
      "runtime/net/hello.cpp",               // out of a byte, checked, whose values the enums write out
  };
  const std::set<std::string> names = enum_names();
  ASSERT_TRUE(names.contains("ReduceOp") && names.contains("Operation"));
  const std::regex cast(R"(static_cast<(?:\w+::)*(\w+)>\()");
  for (const Source* source : sources_under({"actors", "examples", "kernels", "messages", "runtime"})) {
    if (allowed.contains(source->path)) continue;
    for (std::size_t i = 0; i < source->lines.size(); ++i) {
      const std::string code = code_of(source->lines[i]);
      if (code.find("static_cast<") == std::string::npos) continue;
      for (std::sregex_iterator at(code.begin(), code.end(), cast), end; at != end; ++at) {
        EXPECT_FALSE(names.contains((*at)[1].str()))
            << source->path << ":" << i + 1 << ": " << code
            << "\n  instead: a table of pairs (actors/core/wire_pairs.hpp), or one enum for both";
      }
    }
  }
}

}  // namespace
}  // namespace d9d::tidy
