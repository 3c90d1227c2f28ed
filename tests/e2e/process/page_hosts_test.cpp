// A job's page from another host, which is a network namespace.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <csignal>

#include "tests/support/certificates.hpp"
#include "tests/support/process/network_namespaces.hpp"
#include "tests/support/tiny_job.hpp"

namespace d9d::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class PageFromAnotherHost : public testing::Test {
 protected:
  void SetUp() override {
    if (!NetworkNamespaces::possible()) GTEST_SKIP() << "network namespaces need root";
    job_.rewrite("{total_steps: 20}", "{total_steps: 1000000}");
    job_.rewrite("{period_steps: last_step}", "{period_steps: 1000000}");
    hosts_.emplace(2);
    hosts_->connect({{0, "10.77.0.1/24"}, {1, "10.77.0.2/24"}});
  }
  // Node 0, with its page at 10.77.0.1:8099.
  std::unique_ptr<Process> start(const Words& words) {
    auto job = job_.start_within(hosts_->on(0), set("node.status", "10.77.0.1:8099") + words);
    job->wait_for_error_text("the run's page is at");
    return job;
  }
  // What another host is answered.
  std::string asked(const std::string& first_line, const std::string& headers = "") {
    const std::string request =
        fmt::format("{} HTTP/1.1\\r\\nHost: 10.77.0.1:8099\\r\\n{}\\r\\n", first_line, headers);
    Process client({.words = hosts_->on(1) +
                             Words{"/bin/bash", "-c",
                                   "exec 3<>/dev/tcp/10.77.0.1/8099; printf '" + request + "' >&3; cat <&3"},
                    .folder = job_.folder().path(),
                    .name = "client"});
    client.wait();
    return client.out();
  }
  Outcome command(const Words& words, const Environment& environment = {}) {
    Process process({.words = hosts_->on(1) + Words{D9D_BINARY_DIR "/d9d-node"} + words,
                     .folder = job_.folder().path(),
                     .name = "command",
                     .environment = environment});
    const int code = process.wait();
    return {code, process.out(), process.err()};
  }

  TinyJob job_;
  std::optional<NetworkNamespaces> hosts_;
};

TEST_F(PageFromAnotherHost, MayBeReadAndActsForWhoHasTheJobsTokenOnly) {
  const auto job = start(set("node.insecure", "true") + set("node.job_token", "sesame"));
  job->wait_for_error_text("nothing protects the page at 10.77.0.1:8099");

  EXPECT_THAT(asked("GET /metrics"), AllOf(HasSubstr("200 OK"), HasSubstr("d9d_asleep{run=\"tiny\"} 0")));
  EXPECT_THAT(asked("GET /"), AllOf(HasSubstr("<h1>tiny</h1>"), Not(HasSubstr("<form"))));
  EXPECT_THAT(asked("POST /sleep"), AllOf(HasSubstr("403"), HasSubstr("job's token")));
  EXPECT_THAT(asked("POST /sleep", "Authorization: Bearer guess\\r\\n"), HasSubstr("403"));
  EXPECT_THAT(command({"sleep", "10.77.0.1:8099"}),
              is_refused(AllOf(HasSubstr("refused"), HasSubstr("D9D_JOB_TOKEN"))));

  EXPECT_THAT(command({"sleep", "10.77.0.1:8099"}, {{"D9D_JOB_TOKEN", "sesame"}}), ends_well());
  job->wait_for_error_text("asleep after step");
  EXPECT_THAT(asked("GET /metrics"), HasSubstr("d9d_asleep{run=\"tiny\"} 1"));
  EXPECT_THAT(asked("GET /"), HasSubstr("<b>Asleep</b>"));
  EXPECT_THAT(asked("POST /wake", "Authorization: Bearer sesame\\r\\n"), HasSubstr("202 Accepted"));
  job->wait_for_error_text("awake after step");
  job->kill();
}

TEST_F(PageFromAnotherHost, UnderTlsIsForWhoHasACertificateOfTheJob) {
  const Authority authority(job_.folder().path(), "job");
  const net::TlsFiles files = authority.issue("node");
  const auto job = start(set("node.tls", fmt::format("{{ca: {}, certificate: {}, key: {}}}", files.ca,
                                                     files.certificate, files.key)));
  const auto ask = [&](const std::string& more) {
    Process client(
        {.words = hosts_->on(1) +
                  Words{"/bin/bash", "-c",
                        "printf 'GET /metrics HTTP/1.1\\r\\nHost: 10.77.0.1\\r\\n\\r\\n' | openssl s_client "
                        "-quiet -verify_return_error -connect 10.77.0.1:8099 -CAfile " +
                            files.ca + more},
         .folder = job_.folder().path(),
         .name = "client"});
    client.wait();
    return client.out();
  };

  EXPECT_THAT(job->err(), HasSubstr("the run's page is at https://10.77.0.1:8099/"));
  EXPECT_THAT(asked("GET /metrics"), Not(HasSubstr("d9d_step"))) << "in clear";
  EXPECT_THAT(ask(""), Not(HasSubstr("d9d_step"))) << "without a certificate";
  EXPECT_THAT(ask(" -cert " + files.certificate + " -key " + files.key), HasSubstr("d9d_step{run=\"tiny\"}"));
  job->kill();
}

TEST_F(PageFromAnotherHost, IsNotOpenedWhereNothingProtectsIt) {
  EXPECT_THAT(job_.run(set("node.status", "0.0.0.0:8099")),
              is_refused(AllOf(HasSubstr("node.status"), HasSubstr("can be reached from other hosts"),
                               HasSubstr("node.insecure"))));
  EXPECT_FALSE(std::filesystem::exists(job_.run_folder("tiny")));
}

}  // namespace
}  // namespace d9d::test
