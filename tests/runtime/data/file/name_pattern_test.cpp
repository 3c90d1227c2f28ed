#include "runtime/data/file/name_pattern.hpp"

#include <gmock/gmock.h>

#include <cstdlib>

#include "runtime/base/error.hpp"
#include "tests/runtime/data/folder.hpp"
#include "tests/support/error_of.hpp"

namespace d9d {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class NamePattern : public testing::Test {
 protected:
  NamePattern() {
    std::filesystem::create_directories(folder_.path("d/e"));
    folder_.write("a.txt", "");
    folder_.write("b.txt", "");
    folder_.write("x[1].txt", "");
    folder_.write("x1.txt", "");
    folder_.write("d/e/c.txt", "");
  }
  std::vector<std::string> matches(const std::string& pattern) const {
    std::vector<std::string> names;
    for (const std::string& match : matches_of(folder_.path(pattern)))
      names.push_back(std::filesystem::path(match).lexically_relative(folder_.path("")).string());
    return names;
  }
  std::string refusal(const std::string& pattern) const {
    return test::error_of([&] { matches(pattern); }, ErrorKind::input);
  }
  const Folder folder_;
};

TEST_F(NamePattern, IsANameFirst) {
  EXPECT_THAT(matches("x[1].txt"), ElementsAre("x[1].txt"));
  EXPECT_THAT(matches("x[0-9].txt"), ElementsAre("x1.txt"));
  EXPECT_THAT(matches("not_there.txt"), ElementsAre("not_there.txt"));
}

TEST_F(NamePattern, HasItemsInBracesInTheirOrderAndMissesNone) {
  EXPECT_THAT(matches("{b,a}.txt"), ElementsAre("b.txt", "a.txt"));
  EXPECT_THAT(matches("{x{1,[1]},d/**/c}.txt"), ElementsAre("x1.txt", "x[1].txt", "d/e/c.txt"));
  EXPECT_THAT(refusal("{a,z}.txt"), HasSubstr("z.txt, an item of"));
  folder_.write("p-08", "");
  folder_.write("p-09", "");
  folder_.write("p-10", "");
  EXPECT_THAT(matches("p-{08..10}"), ElementsAre("p-08", "p-09", "p-10"));
  EXPECT_THAT(refusal("p-{08..11}"), HasSubstr("p-11, an item of"));
}

TEST_F(NamePattern, WithStarsAmongOtherLettersIsRefusedAndNotTakenForOneStar) {
  EXPECT_THAT(refusal("d/**.txt"), HasSubstr("** stands for folders, alone between slashes"));
}

TEST_F(NamePattern, GoesThroughLinksAndNotRound) {
  std::filesystem::create_directory_symlink(folder_.path("d"), folder_.path("link"));
  std::filesystem::create_directory_symlink(folder_.path("d"), folder_.path("d/e/round"));
  EXPECT_THAT(matches("**/c.txt"), ElementsAre("d/e/c.txt", "link/e/c.txt"));
}

TEST_F(NamePattern, OfAHomeFolderIsExpanded) {
  const char* const before = std::getenv("HOME");
  const std::string home = before ? before : "";
  ::setenv("HOME", folder_.path("d").c_str(), 1);
  EXPECT_THAT(matches_of("~/e/*.txt"), ElementsAre(folder_.path("d/e/c.txt")));
  EXPECT_THAT(matches_of("~/e/c.txt"), ElementsAre(folder_.path("d/e/c.txt")));
  ::setenv("HOME", home.c_str(), 1);
  EXPECT_THAT(test::error_of([] { matches_of("~nobody_has_this_name/x"); }, ErrorKind::input),
              HasSubstr("there is no home folder for ~nobody_has_this_name"));
}

}  // namespace
}  // namespace d9d
