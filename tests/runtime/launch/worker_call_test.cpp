#include "runtime/launch/worker_call.hpp"

#include <gmock/gmock.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cstdlib>

#include "tests/support/error_of.hpp"

namespace d9d {
namespace {

TEST(WorkerCall, SaysToAProcessWhatItsCommandDecided) {
  const WorkerCall call{{{1, 4}, 0xfeedfacecafebeefU}, "[::1]:29500"};

  const auto read = worker_call({{worker_variable, text_of(call)}, {secret_variable, "hush"}});

  ASSERT_TRUE(read);
  EXPECT_EQ(read->worker.share, (Share{1, 4}));
  EXPECT_EQ(read->worker.command, call.worker.command);
  EXPECT_EQ(read->worker.secret, "hush");
  EXPECT_EQ(read->join, "[::1]:29500");
  EXPECT_EQ(read->report, -1);
  EXPECT_FALSE(worker_call({}));
}

TEST(WorkerCall, HandsOnTheJobFileToEachProcess) {
  const int file = ::memfd_create("job", 0);
  ASSERT_EQ(::write(file, "a: 1\n", 5), 5);
  const int other = ::dup(file);  // the two share the place of the next read

  EXPECT_EQ(job_text_of({.job = file}), "a: 1\n");
  EXPECT_EQ(job_text_of({.job = other}), "a: 1\n");
  EXPECT_EQ(job_text_of({}), std::nullopt);
}

TEST(WorkerCall, RefusesWhatNoCommandWrites) {
  for (const char* bad : {"1", "4/4/1/", "a/4/1/", "0/4/x/", "0/4/1"}) {
    EXPECT_THAT(test::error_of(
                    [&] {
                      worker_call({{worker_variable, bad}});
                    },
                    ErrorKind::input),
                testing::HasSubstr("unset it, and set node.processes"))
        << bad;
  }
}

TEST(WorkerCall, IsTakenOnceAndReportsOnce) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe(ends.data()), 0);
  const Variables variables{{worker_variable, "0/2/5/"}, {report_variable, std::to_string(ends[1])}};
  ::setenv(worker_variable, "0/2/5/", 1);
  ::setenv(secret_variable, "hush", 1);

  const auto call = take_worker_call(variables);
  report_ready(*call, "127.0.0.1:7");

  EXPECT_EQ(std::getenv(worker_variable), nullptr);
  EXPECT_EQ(std::getenv(secret_variable), nullptr);
  std::array<char, 64> text{};
  EXPECT_EQ(::read(ends[0], text.data(), text.size()), 12);
  EXPECT_STREQ(text.data(), "127.0.0.1:7\n");
  EXPECT_EQ(::read(ends[0], text.data(), text.size()), 0) << "nobody else has the other end";
  ::close(ends[0]);
}

}  // namespace
}  // namespace d9d
