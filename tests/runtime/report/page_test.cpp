#include "runtime/report/page.hpp"

#include <gmock/gmock.h>

#include "tests/runtime/report/run_maker.hpp"
#include "tests/runtime/report/two_stages.hpp"
#include "tests/runtime/report/well_formed.hpp"

namespace d9d::report {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST(Page, ShowsAWholeRunAndIsXml) {
  test::RunMaker run;
  run.steps(6).started(0, test::job_of("tiny", 6)).ended(RunOutcome::finished, "done");
  test::TwoStages().step(5, 0).step(6, 100).write(run.folder() / "traces" / "trace.json.gz");
  std::filesystem::create_directories(run.folder() / "checkpoints" / "save-6.tmp-x");

  const std::string html = report_page(run.look(), {.now = 1.7e9, .build = "0.1.0"});

  EXPECT_EQ(test::markup_problem(html), "");
  EXPECT_THAT(html, AllOf(HasSubstr("<h1>tiny</h1>"),
                          HasSubstr("<b>Finished</b>: 6 of 6 steps, 6000 tokens, 3.0 s of training."),
                          HasSubstr("<dd>8 \u2192 3</dd>"), HasSubstr("first 8, last 3"),
                          HasSubstr("<h3>Step 6, the last that the trace has whole</h3>"),
                          HasSubstr("2 steps on 2 ranks traced"), HasSubstr("save-6.tmp-x"),
                          HasSubstr("betas: [0.9, 0.95]"),
                          HasSubstr("Written 2023-11-14 22:13 UTC by d9d-node 0.1.0")));
}

TEST(Page, OfARunAtWorkTellsWhenItEndsAndHowItDoesNow) {
  test::RunMaker run;
  run.steps(4).started(0, test::job_of("tiny", 24));
  std::ofstream(run.folder() / "metrics.jsonl", std::ios::app)
      << "{\"step\":5,\"loss\":4,\"time\":1000,\"step_seconds\":0.5}\n{\"step\":6,\"loss\":2,\"time\":1301,"
         "\"step_seconds\":0.5}\n";
  RunFolder looked = run.look();
  looked.is_running = looked.has_log = true;
  PageOptions options{.now = 1.7e9, .log = "/log", .asks_for_sleep = true};

  const std::string html = report_page(looked, options);
  EXPECT_EQ(test::markup_problem(html), "");
  EXPECT_THAT(html, AllOf(HasSubstr("<dt>time left, about</dt><dd>9.0 s</dd>"),
                          HasSubstr("<dt>mean loss of the last 5 min</dt><dd>2 (4 before)</dd>"),
                          HasSubstr("<a href=\"/log\">Log</a>"), HasSubstr(">Sleep</button>")));

  options.is_asleep = true;
  EXPECT_THAT(report_page(looked, options),
              AllOf(HasSubstr("<b>Asleep</b>"), Not(HasSubstr("time left")), HasSubstr(">Wake</button>"),
                    Not(HasSubstr(">Sleep</button>"))));
  EXPECT_THAT(report_page(run.look(), {}), AllOf(Not(HasSubstr("time left")), Not(HasSubstr(">Log<"))));
}

TEST(Page, NeedsNothingFromElsewhere) {
  test::RunMaker run;
  run.steps(2).started(0, test::job_of("r", 2));

  const std::string html = report_page(run.look(), {});

  EXPECT_EQ(count_of(html, "<script"), 1U);
  for (const char* outside : {" src=", "<link", "url(", "@import", "fetch(", "href=\"http"})
    EXPECT_THAT(html, Not(HasSubstr(outside)));
  EXPECT_THAT(html, Not(HasSubstr("http-equiv")));
  EXPECT_THAT(report_page(run.look(), {.refresh_seconds = 7}),
              HasSubstr("<meta http-equiv=\"refresh\" content=\"7\"/>"));
  EXPECT_EQ(count_of(html, "http"), count_of(html, "http://www.w3.org/")) << "names of formats only";
}

TEST(Page, EscapesWhatComesFromTheRun) {
  const std::string evil = "</title><script>alert('x')</script>";
  test::RunMaker run;
  auto job = test::job_of(evil, 2);
  job["optimizer"]["name"] = evil;
  run.steps(1).started(0, job).ended(RunOutcome::failed, evil);
  std::ofstream(run.folder() / "metrics.jsonl", std::ios::app)
      << nlohmann::json{{"step", 2}, {evil, 1.0}}.dump() << "\n"
      << nlohmann::json{{"step", 3}, {evil, 2.0}}.dump() << "\n";
  run.folder().write("samples.txt", evil);
  std::filesystem::create_directories(run.folder() / "checkpoints" / "save-1.tmp-<script>");

  const std::string html = report_page(run.look(), {.build = evil});

  EXPECT_EQ(test::markup_problem(html), "");
  EXPECT_EQ(count_of(html, "<script"), 1U);
  EXPECT_GE(count_of(html, "&lt;script&gt;alert("), 7U);
}

TEST(Page, OfARunThatHasNothingSaysWhatIsMissing) {
  test::RunMaker run;
  std::filesystem::create_directories(run.folder() / "traces");

  const std::string html = report_page(run.look(), {});

  EXPECT_EQ(test::markup_problem(html), "");
  EXPECT_THAT(html, AllOf(HasSubstr("<b>Ended</b>: 0 steps."), HasSubstr("metrics.jsonl is missing or empty"),
                          HasSubstr("There is no trace: "), HasSubstr("There is no checkpoint in "),
                          HasSubstr("keys are not known")));
}

TEST(Page, NamesTheTracesOfEarlierStarts) {
  test::RunMaker run;
  run.steps(1);
  std::filesystem::create_directories(run.folder() / "traces");
  run.folder().write("traces/trace-1.json.gz", "");

  EXPECT_THAT(report_page(run.look(), {}), HasSubstr("<li>trace-1.json.gz</li>"));
}

}  // namespace
}  // namespace d9d::report
