#include "runtime/live/live_page.hpp"

#include <gmock/gmock.h>

#include <atomic>

#include "runtime/live/http_post.hpp"
#include "tests/runtime/report/run_maker.hpp"
#include "tests/runtime/report/well_formed.hpp"
#include "tests/support/error_of.hpp"
#include "tests/support/http_client.hpp"

namespace d9d::live {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

// The port that the log names.
int port_in(const std::string& log) {
  const std::string mark = "http://127.0.0.1:";
  return std::stoi(log.substr(log.find(mark) + mark.size()));
}

class LivePage : public testing::Test {
 protected:
  std::string get(const std::string& path) const {
    const test::HttpReply answer = test::http_get(port_, path);
    return answer.status != 0 ? answer.body : "nobody answers";
  }
  void open(std::function<void()> write_trace = {}) {
    testing::internal::CaptureStderr();
    page_ = open_live_page({.address = {"127.0.0.1", 0},
                            .run_dir = run_.folder().path(),
                            .run = "tiny",
                            .clock = clock_,
                            .write_trace = std::move(write_trace)});
    port_ = port_in(testing::internal::GetCapturedStderr());
  }

  test::RunMaker run_;
  SystemClock clock_;
  std::unique_ptr<TrackerRun> page_;
  int port_ = 0;
};

TEST_F(LivePage, IsTheReportOfTheRunAndAsksForItselfAgain) {
  run_.steps(3).started(0, test::job_of("tiny", 6));
  open();

  const std::string html = get("/");

  EXPECT_EQ(test::markup_problem(html), "");
  EXPECT_THAT(html, AllOf(HasSubstr("<h1>tiny</h1>"), HasSubstr("http-equiv=\"refresh\""),
                          HasSubstr("first 8, last 6")));
}

TEST_F(LivePage, TheNumbersAreTheNewestThatWereWritten) {
  open();
  page_->write({"loss", 1, {}}, Scalar{4.5});
  page_->write({"loss", 2, {}}, Scalar{4.25});
  page_->write({"gradients", 2, {}}, Histogram{{1, 2}});

  EXPECT_THAT(get("/metrics"), AllOf(HasSubstr("d9d_loss{run=\"tiny\"} 4.25\n"),
                                     HasSubstr("d9d_step{run=\"tiny\"} 2\n"), Not(HasSubstr("gradients"))));
}

TEST_F(LivePage, AFolderWithoutARunIsAnAnswerAndNoEnd) {
  open();
  EXPECT_THAT(get("/"), HasSubstr("is the folder of no run"));
  EXPECT_THAT(get("/metrics"), HasSubstr("d9d_step"));
}

TEST_F(LivePage, AsksForATraceByAButtonAndNotTooOften) {
  run_.steps(3).started(0, test::job_of("tiny", 6));
  int asked = 0;
  open([&] { ++asked; });
  const auto post = [&] { return test::http_post(port_, "/trace").status; };

  EXPECT_THAT(get("/"), HasSubstr("<form method=\"post\" action=\"/trace\">"));
  EXPECT_EQ(test::markup_problem(get("/")), "");
  EXPECT_EQ(post(), 202);
  EXPECT_EQ(post(), 429);
  EXPECT_EQ(asked, 1);
  EXPECT_EQ(test::http_get(port_, "/trace").status, 404) << "looking does nothing";
}

TEST_F(LivePage, HasNoButtonsForWhoMayNotPressThem) {
  run_.steps(3).started(0, test::job_of("tiny", 6));
  open([] {});
  const std::string passed_on = "X-Forwarded-For: 10.0.0.9\r\n";

  EXPECT_THAT(test::http_get(port_, "/", passed_on).body,
              AllOf(HasSubstr("<h1>tiny</h1>"), Not(HasSubstr("<form"))));
  EXPECT_EQ(test::http_post(port_, "/trace", passed_on).status, 403);
  EXPECT_THAT(get("/"), HasSubstr("<form"));
}

TEST_F(LivePage, LetsABrowserRunItsOwnScriptOnlyAndFrameNothing) {
  run_.steps(3).started(0, test::job_of("tiny", 6));
  open();
  const test::HttpReply page = test::http_get(port_, "/");
  const std::size_t begin = page.body.find("<script>") + std::string("<script>").size();
  const std::string script = page.body.substr(begin, page.body.find("</script>") - begin);

  EXPECT_EQ(page.headers.at("content-security-policy"), content_policy(script));
  EXPECT_EQ(page.body.find("<script", begin), std::string::npos) << "the only one";
  EXPECT_EQ(page.headers.at("x-frame-options"), "DENY");
}

TEST_F(LivePage, SaysThatTheJobSleeps) {
  run_.steps(3).started(0, test::job_of("tiny", 6));
  std::atomic<bool> is_asleep = false;
  testing::internal::CaptureStderr();
  page_ = open_live_page({.address = {"127.0.0.1", 0},
                          .run_dir = run_.folder().path(),
                          .run = "tiny",
                          .clock = clock_,
                          .is_asleep = [&] { return is_asleep.load(); },
                          .sleep = [] {},
                          .wake = [] {}});
  port_ = port_in(testing::internal::GetCapturedStderr());

  EXPECT_THAT(get("/"), Not(HasSubstr("Asleep")));
  EXPECT_THAT(get("/metrics"), HasSubstr("d9d_asleep{run=\"tiny\"} 0\n"));
  is_asleep = true;
  EXPECT_THAT(get("/"), AllOf(HasSubstr("<b>Asleep</b>"), HasSubstr("action=\"/wake\"")));
  EXPECT_THAT(get("/metrics"), HasSubstr("d9d_asleep{run=\"tiny\"} 1\n"));
  page_.reset();
}

TEST_F(LivePage, BeyondThisHostSaysWhatProtectsIt) {
  testing::internal::CaptureStderr();
  page_ = open_live_page(
      {.address = {"0.0.0.0", 0}, .run_dir = run_.folder().path(), .run = "tiny", .clock = clock_});
  EXPECT_THAT(testing::internal::GetCapturedStderr(), AllOf(HasSubstr("the run's page is at http://0.0.0.0:"),
                                                            HasSubstr("nothing protects the page")));
}

TEST_F(LivePage, PassesSleepAndWakeOn) {
  run_.steps(3).started(0, test::job_of("tiny", 6));
  std::string told;
  testing::internal::CaptureStderr();
  page_ = open_live_page({.address = {"127.0.0.1", 0},
                          .run_dir = run_.folder().path(),
                          .run = "tiny",
                          .clock = clock_,
                          .sleep = [&] { told += "sleep "; },
                          .wake = [&] { told += "wake "; }});
  port_ = port_in(testing::internal::GetCapturedStderr());
  const HostPort here{"127.0.0.1", static_cast<std::uint16_t>(port_)};

  EXPECT_EQ(post(here, "/sleep", "key").status, 202);
  EXPECT_THAT(post(here, "/wake", "key").body, HasSubstr("wakes"));
  EXPECT_EQ(told, "sleep wake ");
  EXPECT_EQ(post(here, "/trace", "key").status, 404);
  EXPECT_THAT(get("/"), AllOf(HasSubstr("action=\"/sleep\""), Not(HasSubstr("action=\"/wake\""))));
  EXPECT_EQ(test::markup_problem(get("/")), "");
  page_->close();
  EXPECT_THAT(test::error_of([&] { post(here, "/sleep", "node.status"); }),
              HasSubstr("node.status: nobody answers"));
}

TEST_F(LivePage, ShowsTheEndOfTheLogToWhoMayAct) {
  run_.steps(3).started(0, test::job_of("tiny", 6));
  open();
  EXPECT_EQ(test::http_get(port_, "/log").status, 404);
  std::filesystem::create_directories(run_.folder() / "logs");
  std::string lines;
  for (int i = 0; i < 30'000; ++i) lines += fmt::format("line {}\n", i);
  run_.folder().write("logs/node-0.log", lines);

  const test::HttpReply log = test::http_get(port_, "/log");

  EXPECT_EQ(log.status, 200);
  EXPECT_TRUE(log.body.starts_with("line ") && log.body.ends_with("line 29999\n"));
  EXPECT_LT(log.body.size(), lines.size());
  EXPECT_EQ(test::http_get(port_, "/log", "Via: 1.1 proxy\r\n").status, 403);
}

TEST_F(LivePage, WithoutTracesHasNoButton) {
  run_.steps(3).started(0, test::job_of("tiny", 6));
  open();
  EXPECT_THAT(get("/"), Not(HasSubstr("<form")));
}

TEST_F(LivePage, ClosedItAnswersNobody) {
  open();
  page_->close();
  EXPECT_EQ(get("/metrics"), "nobody answers");
}

}  // namespace
}  // namespace d9d::live
