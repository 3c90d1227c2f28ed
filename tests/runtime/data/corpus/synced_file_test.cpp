#include "runtime/data/corpus/synced_file.hpp"

#include <gmock/gmock.h>

#include "runtime/base/error.hpp"
#include "tests/runtime/data/folder.hpp"
#include "tests/support/error_of.hpp"
#include "tests/support/file_text.hpp"

namespace d9d {
namespace {

TEST(SyncedFile, ReplacesWhatIsThere) {
  const Folder folder;
  const std::string path = folder.write("a", "a longer text");
  std::ofstream out = open_new(path);
  out << "short";
  close_synced(out, path);
  EXPECT_EQ(test::text_of_file(path), "short");
}

TEST(SyncedFile, ThatCannotBeWrittenIsAnErrorOfTheEnvironment) {
  const Folder folder;
  EXPECT_THAT(test::error_of([&] { open_new(folder.path("absent/a")); }, ErrorKind::environment),
              testing::HasSubstr("cannot write"));
}

}  // namespace
}  // namespace d9d
