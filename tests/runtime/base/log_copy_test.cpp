#include "runtime/base/log_copy.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "runtime/base/error.hpp"
#include "runtime/base/log.hpp"
#include "runtime/base/log_file.hpp"
#include "tests/support/error_of.hpp"
#include "tests/support/file_text.hpp"
#include "tests/support/temporary_folder.hpp"

namespace d9d {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::MatchesRegex;
using testing::Not;

class LogCopyTest : public testing::Test {
 protected:
  void TearDown() override { log::stop_copying(); }
  std::string text(const std::string& name) const { return test::text_of_file(folder_ / "logs" / name); }
  std::filesystem::path file() const { return folder_ / "logs" / "node-0.log"; }

  const test::TemporaryFolder folder_;
};

TEST_F(LogCopyTest, HasWhatWasSaidBeforeAndAfterWithTheDate) {
  log::info("before the folder is known");
  log::copy_to(file());
  log::warn("after that");

  EXPECT_THAT(text("node-0.log"),
              MatchesRegex("[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9:.]+ info before the folder is known\n"
                           "[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9:.]+ warning after that\n"));

  log::stop_copying();
  log::info("too late");
  EXPECT_THAT(text("node-0.log"), Not(HasSubstr("too late")));
}

TEST_F(LogCopyTest, GoesOnInTheFileOfAnEarlierStart) {
  std::filesystem::create_directories(folder_ / "logs");
  std::ofstream(file()) << "the start before\n";
  log::copy_to(file());
  log::info("this one");

  EXPECT_THAT(text("node-0.log"), AllOf(HasSubstr("the start before\n"), HasSubstr("this one\n")));
}

TEST_F(LogCopyTest, KeepsTwoFilesOfABoundedSize) {
  log::copy_to(file(), 60);
  for (const char* line : {"one", "two", "three", "four", "five"}) log::info("{}", line);

  EXPECT_THAT(text("node-0.log"), AllOf(HasSubstr("five"), Not(HasSubstr("three"))));
  EXPECT_THAT(text("node-0.1.log"), AllOf(HasSubstr("four"), HasSubstr("three"), Not(HasSubstr("two"))));
}

TEST_F(LogCopyTest, AFileThatCannotBeMadeIsNamed) {
  EXPECT_THAT(test::error_of([] { log::copy_to("/proc/no/such.log"); }, ErrorKind::environment),
              HasSubstr("cannot write the log to /proc/no/such.log"));
}

// A full disk costs lines and nothing else.
TEST_F(LogCopyTest, ADiskThatTakesNothingIsPassedOver) {
  log::copy_to("/dev/full");
  log::info("lost");
}

}  // namespace
}  // namespace d9d
