// examples/containers: what the Containerfile copies is there, and its README has all of its arguments and targets.
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace d9d::test {
namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;

const fs::path root = D9D_SOURCE_DIR;

std::string content(const fs::path& path) {
  std::ifstream in(path);
  std::stringstream all;
  all << in.rdbuf();
  return all.str();
}

// The words of each instruction with this name.
std::vector<Words> instructions(const std::string& name) {
  std::ifstream in(root / "examples/containers/Containerfile");
  std::vector<Words> found;
  for (std::string line; std::getline(in, line);) {
    std::stringstream words(line);
    Words all;
    for (std::string word; words >> word;) all.push_back(word);
    if (!all.empty() && all[0] == name) found.push_back({all.begin() + 1, all.end()});
  }
  return found;
}

TEST(Containers, CopyFilesThatAreThere) {
  const std::vector<Words> copies = instructions("COPY");
  ASSERT_GE(copies.size(), 3U);
  for (const Words& copy : copies) {
    for (std::size_t i = 0; i + 1 < copy.size(); ++i)
      EXPECT_TRUE(fs::exists(root / copy[i])) << "COPY " << copy[i];
  }
}

TEST(Containers, HaveArgumentsAndTargetsThatTheReadmeExplains) {
  const std::string readme = content(root / "examples/containers/README.md");
  ASSERT_GE(instructions("ARG").size(), 4U);
  for (const Words& argument : instructions("ARG")) {
    const std::string name = argument.at(0).substr(0, argument[0].find('='));
    EXPECT_THAT(readme, testing::HasSubstr("| `" + name + "` |"));
  }
  EXPECT_EQ(instructions("FROM").back().back(), "cpu") << "the last target is the one without --target";
  EXPECT_THAT(readme, testing::HasSubstr("--target cuda --build-arg CUDA=1"));
}

// What the build makes and what a git checkout need not bring.
TEST(Containers, LeaveOutWhatGitIgnores) {
  const std::string left_out = content(root / ".dockerignore");
  for (const char* folder : {"build\n", "runs\n", ".gpu\n"})
    EXPECT_THAT(left_out, testing::HasSubstr(folder));
}

}  // namespace
}  // namespace d9d::test
