// What READMEs say about the arrows is what the CMakeLists.txt files say.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include "tests/tidy/libraries.hpp"
#include "tests/tidy/source_tree.hpp"

namespace d9d::tidy {
namespace {

namespace fs = std::filesystem;
std::vector<std::string> lines_of(const fs::path& path) {
  std::vector<std::string> lines;
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

// "| [comm](comm/README.md) | what | base mesh |" -> comm: base mesh
std::map<std::string, std::string> table_of_runtime() {
  std::map<std::string, std::string> rows;
  for (const std::string& line : lines_of(fs::path(D9D_SOURCE_DIR) / "runtime/README.md")) {
    if (!line.starts_with("| [")) continue;
    const std::size_t last = line.rfind(" |");
    const std::size_t before = line.rfind("| ", last - 1);
    rows[line.substr(3, line.find(']') - 3)] = line.substr(before + 2, last - before - 2);
  }
  return rows;
}

// "runtime/base" as the table says it.
std::string short_name(const std::string& room) {
  return room.starts_with("runtime/") ? room.substr(room.find('/') + 1) : room;
}

TEST(Readme, TheTableOfRuntimeSaysWhatTheLibrariesDependOn) {
  const auto table = table_of_runtime();
  for (const auto& [name, room] : rooms()) {
    if (!name.starts_with("runtime/")) continue;
    Names expected;
    for (const std::string& other : room.may_include) expected.insert(short_name(other));
    const auto row = table.find(short_name(name));
    ASSERT_TRUE(row != table.end()) << "runtime/README.md: a row for " << name << " is missing";
    Names told;
    std::istringstream words(row->second);
    for (std::string word; words >> word;) told.insert(word);
    if (row->second == "nothing") told.clear();

    EXPECT_EQ(told, expected) << "runtime/README.md, row " << short_name(name) << ": say what DEPS says";
  }
  for (const auto& [name, may] : table) {
    EXPECT_TRUE(rooms().contains("runtime/" + name)) << "runtime/README.md: " << name << " is no library";
  }
}

// The picture "a, b -> c -> d" of README.md: the top folders in layers.
std::map<std::string, std::size_t> layers_of_the_picture() {
  for (std::string line : lines_of(fs::path(D9D_SOURCE_DIR) / "README.md")) {
    if (!line.starts_with("    examples, tests  ->")) continue;
    line = line.substr(0, line.find(" messages:"));
    std::map<std::string, std::size_t> layers;
    std::istringstream words(line);
    std::size_t layer = 0;
    for (std::string word; words >> word;) {
      if (word == "->") {
        ++layer;
      } else {
        layers[word.ends_with(',') ? word.substr(0, word.size() - 1) : word] = layer;
      }
    }
    return layers;
  }
  return {};
}

TEST(Readme, ThePictureOfTheLayersIsTrue) {
  const auto layers = layers_of_the_picture();
  const auto top = [](const std::string& room) { return room.substr(0, room.find('/')); };
  ASSERT_EQ(layers.size(), 5U) << "README.md: the line 'examples, tests  ->  actors ...' is missing";
  for (const auto& [name, room] : rooms()) {
    for (const std::string& other : room.may_include) {
      if (name == "examples") continue;  // plugins, over libd9d.so
      if (top(other) == "messages") {
        EXPECT_EQ(top(name), "actors") << "README.md says that only actors know messages, but " << name;
      } else if (top(name) != top(other)) {
        EXPECT_LT(layers.at(top(name)), layers.at(top(other))) << "README.md: " << name << " -> " << other;
      }
    }
  }
}

// The files that "[text](path)" names in a README, beside addresses on the web.
std::vector<std::string> links_of(const std::string& line) {
  static const std::regex link(R"(\]\(([^)#]+))");
  std::vector<std::string> paths;
  for (std::sregex_iterator at(line.begin(), line.end(), link), none; at != none; ++at) {
    if ((*at)[1].str().find("://") == std::string::npos) paths.push_back((*at)[1].str());
  }
  return paths;
}

TEST(Readme, EveryLinkLeadsToAFile) {
  const fs::path root = D9D_SOURCE_DIR;
  std::vector<fs::path> readmes{root / "README.md"};
  for (const char* top : {"actors", "examples", "kernels", "messages", "runtime", "tests"}) {
    for (fs::recursive_directory_iterator at(root / top), end; at != end; ++at) {
      if (at->path().filename() == "build") at.disable_recursion_pending();
      if (at->path().extension() == ".md") readmes.push_back(at->path());
    }
  }
  for (const fs::path& readme : readmes) {
    for (const std::string& line : lines_of(readme)) {
      for (const std::string& link : links_of(line)) {
        EXPECT_TRUE(fs::exists(readme.parent_path() / link)) << readme << " links to " << link;
      }
    }
  }
}

// One table for all: a second one beside it would differ some day.
TEST(Readme, NoFolderRepeatsItsArrows) {
  for (const char* top : {"actors", "kernels", "messages", "runtime"}) {
    for (fs::recursive_directory_iterator at(fs::path(D9D_SOURCE_DIR) / top), end; at != end; ++at) {
      if (at->path().filename() != "README.md" || at->path().parent_path().filename() == "runtime") continue;
      for (std::string line : lines_of(at->path())) {
        std::transform(line.begin(), line.end(), line.begin(),
                       [](char c) { return c >= 'A' && c <= 'Z' ? c + 32 : c; });
        EXPECT_EQ(line.find("may include"), std::string::npos)
            << at->path() << ": " << line << "\n  DEPS and ORDER say it, and runtime/README.md has the table";
      }
    }
  }
}

}  // namespace
}  // namespace d9d::tidy
