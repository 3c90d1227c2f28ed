#include "runtime/metric/sink/append_file.hpp"

#include <gmock/gmock.h>

#include "runtime/base/error.hpp"
#include "tests/runtime/metric/sink/sink_fixture.hpp"

namespace d9d {
namespace {

class AppendFiles : public SinkFolder {};

TEST_F(AppendFiles, SayWhatIsWrongWithTheirFolder) {
  { AppendFile file(folder_ / "plain", AppendFile::Mode::create_new); }

  try {
    AppendFile file(folder_ / "plain" / "run" / "metrics.jsonl", AppendFile::Mode::create_new);
    FAIL() << "a folder inside of a file";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::environment);
    EXPECT_THAT(error.what(), testing::HasSubstr("run/metrics.jsonl: cannot create its folder"));
    EXPECT_THAT(error.what(), testing::HasSubstr("Not a directory"));
  }
}

}  // namespace
}  // namespace d9d
