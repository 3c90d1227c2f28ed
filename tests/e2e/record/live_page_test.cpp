// A run that somebody looks at while it runs.
#include <gmock/gmock.h>

#include <csignal>
#include <deque>

#include "tests/runtime/report/well_formed.hpp"
#include "tests/support/http_client.hpp"
#include "tests/support/tiny_job.hpp"

namespace d9d::test {
namespace {

using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

std::string got(int port, const std::string& path) {
  const HttpReply answer = http_get(port, path);
  return answer.status == 200 ? answer.body : "";
}

int port_of_page(Process& process) {
  const std::string mark = "http://127.0.0.1:";
  process.wait_for_error_text(mark);
  const std::string err = process.err();
  return std::stoi(err.substr(err.find(mark) + mark.size()));
}

class LiveJob : public testing::Test {
 protected:
  void SetUp() override {
    job_.rewrite("{total_steps: 20}", "{total_steps: 1000000}");
    job_.rewrite("{period_steps: last_step}", "{period_steps: 1000000}");
  }
  TinyJob job_;
};

TEST_F(LiveJob, ServesItsPageAndItsNumbersWhileItRuns) {
  const auto job = job_.start(set("node.status", "127.0.0.1:0") + mesh(2, 1));
  const int port = port_of_page(*job);
  std::string numbers;
  job->wait_until("numbers of a step", [&] {
    numbers = got(port, "/metrics");
    return numbers.find("d9d_loss{") != std::string::npos;
  });
  const std::string page = got(port, "/");
  job->signal(SIGINT);
  job->wait();

  EXPECT_THAT(numbers, AllOf(ContainsRegex("d9d_loss\\{run=\"tiny\"\\} [0-9.]+"),
                             ContainsRegex("d9d_step\\{run=\"tiny\"\\} [1-9]")));
  EXPECT_EQ(markup_problem(page), "");
  EXPECT_THAT(page,
              AllOf(HasSubstr("<h1>tiny</h1>"), HasSubstr("<b>Running</b>"), Not(HasSubstr("job_token"))));
  EXPECT_EQ(got(port, "/metrics"), "") << "the job is over";
}

// A page that somebody's browser shows may send requests, under any name that leads here.
TEST_F(LiveJob, ListensToNoOtherPageAndToNobodyForEver) {
  const auto job = job_.start(set("node.status", "127.0.0.1:0"));
  const int port = port_of_page(*job);
  const std::string evil = "Host: evil.example:80\r\nOrigin: http://evil.example:80\r\n";

  EXPECT_EQ(http_get(port, "/", evil).status, 421);
  EXPECT_EQ(http_post(port, "/trace", evil).status, 421);
  EXPECT_EQ(http_post(port, "/trace", "Origin: http://elsewhere.example\r\n").status, 403);
  const HttpReply page = http_get(port, "/");
  EXPECT_THAT(page.headers.at("content-security-policy"), HasSubstr("frame-ancestors 'none'"));
  EXPECT_EQ(page.headers.at("x-frame-options"), "DENY");

  std::deque<HttpConnection> slow;
  for (int i = 0; i < 10; ++i) {
    slow.emplace_back(port);
    slow.back().send("GET /metrics HTTP/1.1\r\nHost: local");
  }
  EXPECT_THAT(got(port, "/metrics"), HasSubstr("d9d_step{")) << "beside ten who never end their request";
  const HttpConnection endless(port);
  endless.send("GET / HTTP/1.1\r\n");
  while (endless.send("H: " + std::string(7000, 'x') + "\r\n")) continue;
  EXPECT_EQ(reply_of(endless.rest()).status, 431);
  EXPECT_EQ(http_post(port, "/trace").status, 202);
  job->kill();
}

TEST_F(LiveJob, APortThatIsTakenIsRefusedBeforeTheFirstFile) {
  const auto first = job_.start(named("first") + set("node.status", "127.0.0.1:0"));
  const std::string taken = "127.0.0.1:" + std::to_string(port_of_page(*first));

  const Outcome second = job_.run(named("second") + set("node.status", taken));
  const Outcome nonsense = job_.run(named("third") + set("node.status", "8080"));
  first->kill();

  EXPECT_NE(second.code, 0);
  EXPECT_THAT(second.err, AllOf(HasSubstr("node.status"), HasSubstr(taken)));
  EXPECT_FALSE(std::filesystem::exists(job_.run_folder("second")));
  EXPECT_THAT(nonsense, is_refused(AllOf(HasSubstr("node.status"), HasSubstr("HOST:PORT"))));
}

}  // namespace
}  // namespace d9d::test
