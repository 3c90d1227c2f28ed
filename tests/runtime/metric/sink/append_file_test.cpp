#include "runtime/metric/sink/append_file.hpp"

#include <gmock/gmock.h>

#include "runtime/base/error.hpp"
#include "tests/runtime/metric/sink/sink_fixture.hpp"
#include "tests/support/error_of.hpp"

namespace d9d {
namespace {

class AppendFiles : public SinkFolder {};

TEST_F(AppendFiles, SayWhatIsWrongWithTheirFolder) {
  { AppendFile file(folder_ / "plain", AppendFile::Mode::create_new); }

  EXPECT_THAT(
      test::error_of(
          [&] { AppendFile file(folder_ / "plain" / "run" / "metrics.jsonl", AppendFile::Mode::create_new); },
          ErrorKind::environment),
      testing::AllOf(testing::HasSubstr("run/metrics.jsonl: cannot create its folder"),
                     testing::HasSubstr("Not a directory")));
}

}  // namespace
}  // namespace d9d
