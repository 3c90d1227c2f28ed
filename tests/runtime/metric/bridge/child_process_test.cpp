#include "runtime/metric/bridge/child_process.hpp"

#include <gmock/gmock.h>

#include <csignal>

#include "tests/runtime/metric/sink/sink_fixture.hpp"
#include "tests/support/error_of.hpp"

namespace d9d {
namespace {

using Child = SinkFolder;
using std::chrono::seconds;
using testing::HasSubstr;

constexpr seconds soon{60};

TEST_F(Child, LeavesWhatItPrintsAndItsExitCode) {
  ChildProcess child({"sh", "-c", "echo out; echo err >&2; exit 7"}, folder_ / "log");

  EXPECT_EQ(child.ended_within(soon), 7);
  EXPECT_EQ(child.ended_within(seconds(0)), 7) << "asked again";
  EXPECT_EQ(content(folder_ / "log"), "out\nerr\n");
}

TEST_F(Child, RunsUntilItsInputEnds) {
  ChildProcess child({"sh", "-c", "cat; echo over"}, folder_ / "log");
  EXPECT_FALSE(child.ended_within(std::chrono::milliseconds(50)));

  child.end_input();

  EXPECT_EQ(child.ended_within(soon), 0);
  EXPECT_EQ(content(folder_ / "log"), "over\n");
}

TEST_F(Child, ASignalIsACodeOver128) {
  ChildProcess child({"sleep", "600"}, folder_ / "log");
  ::kill(child.pid(), SIGTERM);

  EXPECT_EQ(child.ended_within(soon), 128 + SIGTERM);
}

TEST_F(Child, AProgramThatIsNotThereIsAnErrorOfTheEnvironment) {
  EXPECT_THAT(
      test::error_of([&] { ChildProcess({"no-such-program"}, folder_ / "log"); }, ErrorKind::environment),
      HasSubstr("cannot start no-such-program"));
}

}  // namespace
}  // namespace d9d
