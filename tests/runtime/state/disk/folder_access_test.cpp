#include "runtime/state/disk/folder_access.hpp"

#include <gmock/gmock.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "runtime/base/error.hpp"
#include "tests/support/error_of.hpp"
#include "tests/support/temporary_folder.hpp"

namespace d9d {
namespace {

using testing::AllOf;
using testing::HasSubstr;
namespace fs = std::filesystem;

std::string refusal(const fs::path& folder) {
  return test::error_of([&] { require_may_write(folder.string(), "output_dir"); }, ErrorKind::environment);
}

TEST(FolderAccess, LetsAFolderPassThatIsThereOrCouldBeMadeAndMakesNone) {
  const test::TemporaryFolder folder;

  EXPECT_EQ(refusal(folder.path()), "no error");
  EXPECT_EQ(refusal(folder / "runs/a/b"), "no error");

  EXPECT_TRUE(fs::is_empty(folder.path()));
}

TEST(FolderAccess, NamesWhatStandsInTheWay) {
  const test::TemporaryFolder folder;
  const std::string file = folder.write("file", "text").string();
  fs::create_symlink("nowhere", folder / "link");

  EXPECT_THAT(refusal(folder / "file/runs"),
              AllOf(HasSubstr("output_dir is " + file + "/runs"), HasSubstr(file + ": Not a directory"),
                    HasSubstr("set output_dir")));
  EXPECT_THAT(refusal(file), HasSubstr("Not a directory"));
  EXPECT_THAT(refusal(folder / "link/runs"), HasSubstr("link"));
}

TEST(FolderAccess, RefusesAFolderThatTheUserMayNotWriteTo) {
  const test::TemporaryFolder folder;
  fs::permissions(folder.path(), fs::perms::owner_read | fs::perms::owner_exec);

  const auto ask_as_nobody = [&] {
    constexpr uid_t nobody = 65534;
    const bool may_ask = ::geteuid() != 0 || ::setuid(nobody) == 0;  // root may write anywhere
    const bool refused = may_ask && refusal(folder / "runs").find("Permission denied") != std::string::npos;
    std::_Exit(refused ? 0 : 1);
  };

  EXPECT_EXIT(ask_as_nobody(), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace d9d
