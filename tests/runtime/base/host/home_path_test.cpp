#include "runtime/base/host/home_path.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "runtime/base/error.hpp"
#include "tests/support/error_of.hpp"
#include "tests/support/temporary_folder.hpp"

namespace d9d {
namespace {

class HomePath : public testing::Test {
 protected:
  void SetUp() override { ::setenv("HOME", "/home/me", 1); }
};

// As bash and dash do it (POSIX, 2.6.1).
TEST_F(HomePath, StandsForItsSign) {
  EXPECT_EQ(expanded_path("~"), "/home/me");
  EXPECT_EQ(expanded_path("~/runs/a b"), "/home/me/runs/a b");
  EXPECT_EQ(expanded_path("~root"), "/root");
  EXPECT_EQ(expanded_path("~root/x"), "/root/x");
}

TEST_F(HomePath, OtherPathsStay) {
  for (const char* path : {"", "runs/~/x", "/a/~", "./~", "~nobody-has-this-name/x", "a$HOME", "$", "$1",
                           "./$HOME", "./a/$HOME"})
    EXPECT_EQ(expanded_path(path), path);
}

TEST_F(HomePath, VariablesAreRefused) {
  for (const char* path :
       {"$HOME/x", "${HOME}/x", "$SCRATCH", "runs/$USER", "runs/${USER}/x", "/scratch/$USER/"})
    EXPECT_THAT(test::error_of([&] { expanded_path(path); }, ErrorKind::input),
                testing::HasSubstr("variables are not replaced"));
}

TEST_F(HomePath, AFileThatIsThereMayHaveTheNameOfAVariable) {
  const test::TemporaryFolder folder;
  std::filesystem::create_directory(folder / "$HOME");
  const std::string path = (folder / "$HOME" / "x").string();

  EXPECT_EQ(expanded_path(path), path);
}

}  // namespace
}  // namespace d9d
