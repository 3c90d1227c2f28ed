// Words with better replacements, the fixed top level, sizes. The rest is told, not failed.
#include <gtest/gtest.h>

#include <filesystem>
#include <iostream>
#include <regex>
#include <set>

#include "tests/tidy/source_tree.hpp"

namespace d9d::tidy {
namespace {

constexpr std::size_t kHardStop = 500;
constexpr std::size_t kHeader = 100;
constexpr std::size_t kSource = 300;

struct Banned {
  const char* word;  // cheap to find; the pattern decides
  const char* pattern;
  const char* instead;
  std::vector<std::string> where;
  std::set<std::string> except;
  bool headers_only = false;
};

const std::vector<std::string> kShipped{"actors", "kernels", "messages", "runtime"};
const std::vector<std::string> kEverywhere{"actors", "examples", "kernels", "messages", "runtime", "tests"};

const std::vector<Banned>& banned() {
  static const std::vector<Banned> words{
      {"xit(",
       R"(\b(exit|_Exit|quick_exit)\()",
       "throw an Error; only main ends the process",
       kShipped,
       {"actors/main.cpp", "actors/d9d_node.cpp", "actors/run_job.cpp"}},
      {"std::cout",
       R"(std::cout)",
       "log, or the Console that a command is given",
       kShipped,
       {"actors/main.cpp"}},
      {"sleep",
       R"(\bsleep_for\(|\busleep\()",
       "a promise, or the virtual clock of ActorWorld",
       {"tests"},
       {}},
      {"using namespace", R"(^using namespace)", "write the names out", kEverywhere, {}, true},
      {"static ",
       R"(^\s*static (?!const\b|constexpr\b|constinit\b|thread_local\b|inline\b|_assert)[^(]*[;=])",
       "hand the state in; no mutable globals",
       kShipped,
       {}},
      {"TODO(now", R"(\bTODO\(now\))", "do it, or say soon, someday, perf or test", kEverywhere, {}},
  };
  return words;
}

TEST(Tidy, BannedWordsHaveTheirReplacement) {
  for (const Banned& word : banned()) {
    const std::regex pattern(word.pattern);
    for (const Source* source : sources_under(word.where)) {
      if (word.except.contains(source->path) || source->path.starts_with("tests/tidy/")) continue;
      if (word.headers_only && !source->is_header()) continue;
      for (std::size_t i = 0; i < source->lines.size(); ++i) {
        if (source->lines[i].find(word.word) == std::string::npos) continue;
        const bool comment_counts = word.word == std::string("TODO(now");
        const std::string text = comment_counts ? source->lines[i] : code_of(source->lines[i]);
        EXPECT_FALSE(std::regex_search(text, pattern))
            << source->path << ":" << i + 1 << ": " << source->lines[i] << "\n  instead: " << word.instead;
      }
    }
  }
}

TEST(Tidy, TheTopLevelIsTheFixedOne) {
  const std::set<std::string> fixed{"CMakeLists.txt", "actors",  "examples", "kernels",
                                    "messages",       "runtime", "tests",    "README.md"};
  for (const auto& entry : std::filesystem::directory_iterator(D9D_SOURCE_DIR)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with(".") || name == "build") continue;
    EXPECT_TRUE(fixed.contains(name)) << name << " does not belong to the top level";
  }
}

TEST(Tidy, EveryHeaderBeginsWithPragmaOnce) {
  for (const Source& source : sources()) {
    if (source.is_header() && !source.lines.empty())
      EXPECT_EQ(source.lines[0], "#pragma once") << source.path;
  }
}

TEST(Tidy, NoFileIsLongerThanTheHardStop) {
  for (const Source& source : sources()) {
    EXPECT_LE(source.lines.size(), kHardStop) << source.path;
  }
}

TEST(Tidy, TellsWhatIsLongerThanItShouldBe) {
  for (const Source& source : sources()) {
    const std::size_t limit = source.is_header() ? kHeader : kSource;
    if (source.lines.size() > limit)
      std::cout << "long: " << source.path << " has " << source.lines.size() << " lines, aim at " << limit
                << "\n";
  }
}

TEST(Tidy, TellsWhatHasNoMirrorInTests) {
  std::set<std::string> names;
  std::string all_tests;
  for (const Source* test : sources_under({"tests"})) {
    for (const std::string& line : test->lines) all_tests += included(line);
  }
  for (const Source* source : sources_under(kShipped)) {
    if (!source->is_cpp()) continue;
    const std::string header = source->path.substr(0, source->path.rfind('.')) + ".hpp";
    if (all_tests.find("\"" + header + "\"") == std::string::npos)
      std::cout << "no test includes " << header << "\n";
  }
}

}  // namespace
}  // namespace d9d::tidy
