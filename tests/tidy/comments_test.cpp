// The shape of comments: paragraphs as people write them.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iostream>
#include <optional>
#include <regex>
#include <sstream>

#include "tests/tidy/source_tree.hpp"

namespace d9d::tidy {
namespace {

constexpr std::size_t orphan_words_max = 3;   // an orphan has at most so many words,
constexpr std::size_t orphan_width_max = 30;  // at most so many characters,
constexpr std::size_t filled_width = 80;      // and stands under a line at least so wide.
constexpr std::size_t orphans_allowed = 0;    // orphans left in the tree; only gets smaller
constexpr std::size_t riddles_allowed = 0;    // lines with riddles left; only gets smaller

struct Comment {
  std::size_t column = 0;
  bool alone = false;  // no code before it
  std::string text;
};

std::optional<Comment> comment_of(const std::string& line, const std::string& mark) {
  const std::size_t at = line.find(mark);
  if (at == std::string::npos) return std::nullopt;
  const std::size_t text = line.find_first_not_of(' ', at + mark.size());
  return Comment{at, line.find_first_not_of(' ') == at, text == std::string::npos ? "" : line.substr(text)};
}

bool ends_a_thought(const std::string& text) {
  return text.empty() || std::string(".:;").find(text.back()) != std::string::npos;
}

// A line that holds the few words which did not fit the line above.
bool is_orphan(const std::string& above, const std::string& line, const std::string& mark) {
  const auto first = comment_of(above, mark), second = comment_of(line, mark);
  const auto is_table_row = [&] { return first->text.find("   ") != std::string::npos; };
  const auto is_indented = [&] { return line.compare(second->column + mark.size(), 2, "  ") == 0; };
  if (!first || !second || !second->alone || first->column != second->column) return false;
  if (is_table_row() || is_indented()) return false;
  std::istringstream words(second->text);
  const auto count = static_cast<std::size_t>(
      std::distance(std::istream_iterator<std::string>(words), std::istream_iterator<std::string>()));
  return count > 0 && count <= orphan_words_max && second->text.size() <= orphan_width_max &&
         above.size() >= filled_width && !ends_a_thought(first->text);
}

TEST(Comments, NoLineIsAnOrphan) {
  std::size_t orphans = 0;
  for (const Source& source : sources()) {
    const std::string mark = source.path.ends_with(".capnp") ? "#" : "//";
    for (std::size_t i = 1; i < source.lines.size(); ++i) {
      if (!is_orphan(source.lines[i - 1], source.lines[i], mark)) continue;
      ++orphans;
      std::cout << "orphan: " << source.path << ":" << i + 1 << ": " << source.lines[i] << "\n";
    }
  }
  EXPECT_LE(orphans, orphans_allowed)
      << "wrap the paragraphs printed above so that their lines are about equally long";
}

// Signs of a sentence that has to be read twice: say who does what instead.
bool is_riddle(const std::string& text) {
  static const std::regex riddle(R"(\b(lies|nobody|whoever|one's own|behind it)\b)", std::regex::icase);
  return std::regex_search(text, riddle);
}

TEST(Comments, HeadersAndSchemasHaveFewRiddles) {
  std::size_t riddles = 0;
  for (const Source* source : sources_under({"actors", "kernels", "messages", "runtime"})) {
    if (source->is_cpp()) continue;
    const std::string mark = source->path.ends_with(".capnp") ? "#" : "//";
    for (std::size_t i = 0; i < source->lines.size(); ++i) {
      const auto comment = comment_of(source->lines[i], mark);
      if (!comment || !is_riddle(comment->text)) continue;
      ++riddles;
      std::cout << "riddle: " << source->path << ":" << i + 1 << ": " << source->lines[i] << "\n";
    }
  }
  EXPECT_LE(riddles, riddles_allowed) << "name the subject and the case in the lines printed above";
}

TEST(Comments, ReadmesHaveNoRiddles) {
  namespace fs = std::filesystem;
  const fs::path root = D9D_SOURCE_DIR;
  std::vector<fs::path> readmes{root / "README.md"};
  for (const char* top : {"actors", "examples", "kernels", "messages", "runtime", "tests"}) {
    for (const auto& entry : fs::recursive_directory_iterator(root / top)) {
      if (entry.path().filename() == "README.md") readmes.push_back(entry.path());
    }
  }
  ASSERT_GT(readmes.size(), 20U);
  for (const fs::path& readme : readmes) {
    std::ifstream in(readme);
    std::size_t number = 0;
    for (std::string line; std::getline(in, line);) {
      ++number;
      EXPECT_FALSE(is_riddle(line)) << readme.string() << ":" << number << ": " << line
                                    << "\n  instead: name the subject and the case";
    }
  }
}

TEST(Comments, AnOrphanIsAFewWordsUnderAFullLine) {
  const std::string full = "// " + std::string(90, 'x') + " and then it goes";
  EXPECT_TRUE(is_orphan(full, "// on here.", "//"));
  EXPECT_TRUE(is_orphan("int a;  " + full, "        // on here.", "//"));
  EXPECT_FALSE(is_orphan(full + ".", "// Throws Error.", "//"));
  EXPECT_FALSE(is_orphan(full, "// on here for more than three words.", "//"));
  EXPECT_FALSE(is_orphan("// short", "// on here.", "//"));
}

}  // namespace
}  // namespace d9d::tidy
