// Whoever is not of the job: under node.tls he reads nothing and gets nothing, and a flood of him ends no process.
#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "runtime/base/host/descriptors.hpp"
#include "runtime/net/fd.hpp"
#include "tests/support/capture.hpp"
#include "tests/support/certificates.hpp"
#include "tests/support/tiny_job.hpp"

namespace d9d::test {
namespace {

using testing::AllOf;
using testing::ElementsAreArray;
using testing::HasSubstr;

sockaddr_in loopback(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  return address;
}

net::Fd connected(int port) {
  net::Fd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const sockaddr_in address = loopback(port);
  if (fd && ::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0)
    fd.reset();
  return fd;
}

// Of 127.0.0.1, free a moment ago.
int free_port() {
  const net::Fd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address = loopback(0);
  socklen_t size = sizeof(address);
  auto* const any = reinterpret_cast<sockaddr*>(&address);
  EXPECT_EQ(::bind(fd.get(), any, size), 0);
  EXPECT_EQ(::getsockname(fd.get(), any, &size), 0);
  return ntohs(address.sin_port);
}

class Strangers : public testing::Test {
 protected:
  static Words tls(const net::TlsFiles& files) {
    return set("node.tls",
               "{ca: " + files.ca + ", certificate: " + files.certificate + ", key: " + files.key + "}");
  }
  std::unique_ptr<Process> start_first(const Words& words) {
    return job_.start(mesh(1, 2) + Words{"--ranks", "1", "--listen", "127.0.0.1:0"} + words);
  }
  std::unique_ptr<Process> start_joining(const std::string& port, const Words& words) {
    return job_.start(mesh(1, 2) + Words{"--join", "127.0.0.1:" + port} + words);
  }

  TinyJob job_;
  const Authority authority_{job_.folder().path(), "job"};
  const Authority another_{job_.folder().path(), "another"};
  const net::TlsFiles good_ = authority_.issue("node");
};

// The first words of a connection, and the name of a group of ranks. The secret of the job is not among them.
const Words readable_words{"d9d hi", "dp_replicate[0,1]"};
const std::string hidden_word = "open sesame";

TEST_F(Strangers, ReadNothingOfAJobUnderTls) {
  const Words secret = set("node.job_token", hidden_word);
  for (const bool under_tls : {false, true}) {
    const Words words = secret + (under_tls ? tls(good_) : Words{}) + named(under_tls ? "dark" : "plain");
    const auto first = start_first(words);
    const std::string port = port_of(*first);
    const auto capture =
        Capture::start(static_cast<std::uint16_t>(std::stoi(port)), readable_words + Words{hidden_word});
    if (!capture) GTEST_SKIP() << "capturing needs CAP_NET_RAW; Sockets.CarryNoPlainTensorUnderTls stands in";
    const auto second = start_joining(port, words);

    EXPECT_EQ(first->wait(), 0) << first->err();
    EXPECT_EQ(second->wait(), 0) << second->err();

    EXPECT_GT(capture->bytes(), 100'000U) << "tensors pass here too";
    EXPECT_THAT(capture->seen(), ElementsAreArray(under_tls ? Words{} : readable_words));
  }
  EXPECT_EQ(job_.exact_curve("dark"), job_.exact_curve("plain"));
}

TEST_F(Strangers, AreToldWhyTheyMayNotJoinAndSoIsNodeZero) {
  const Words soon = set("node.join_timeout", "1");
  const auto first = start_first(tls(good_));
  const std::string port = port_of(*first);

  const auto without = start_joining(port, soon);
  EXPECT_EQ(without->wait(), 1);
  EXPECT_THAT(without->err(), AllOf(HasSubstr("cannot reach node 0 at 127.0.0.1:" + port),
                                    HasSubstr("it takes connections under TLS only: give node.tls")));
  first->wait_for_error_text("it speaks no TLS: does its job file lack node.tls?");

  const auto foreign = start_joining(port, soon + tls(another_.issue("foreign")));
  EXPECT_EQ(foreign->wait(), 1);
  EXPECT_THAT(foreign->err(), HasSubstr("its certificate is not signed by node.tls.ca"));

  const auto second = start_joining(port, tls(good_));
  EXPECT_EQ(first->wait(), 0) << first->err();
  EXPECT_EQ(second->wait(), 0) << second->err();
}

TEST_F(Strangers, WithTlsAreToldThatNodeZeroHasNone) {
  const auto first = start_first({});

  const auto joining = start_joining(port_of(*first), set("node.join_timeout", "1") + tls(good_));

  EXPECT_EQ(joining->wait(), 1);
  EXPECT_THAT(joining->err(), HasSubstr("it speaks no TLS: does its job file lack node.tls?"));
  first->wait_for_error_text("it speaks TLS, and this job file has no node.tls");
}

TEST_F(Strangers, AKeyOfAnotherCertificateStopsTheJobBeforeItStarts) {
  net::TlsFiles wrong = good_;
  wrong.key = authority_.issue("other").key;

  EXPECT_THAT(job_.run(tls(wrong)),
              is_refused(AllOf(HasSubstr("node.tls.key: " + wrong.key), HasSubstr("is not the key of"))));
  EXPECT_FALSE(std::filesystem::exists(job_.run_folder("tiny")));
}

class Flood : public Strangers {
 protected:
  // With 1024 descriptors and no way to more.
  std::unique_ptr<Process> start_limited(const std::string& name, const Words& words) {
    return std::make_unique<Process>(
        ProcessOptions{.words = Words{"/bin/sh", "-c", "ulimit -n 1024 && exec \"$@\"", "sh",
                                      D9D_BINARY_DIR "/d9d-node", "job.yaml"} +
                                mesh(1, 2) + set("trainer.schedule.total_steps", "200") + words,
                       .folder = job_.folder().path(),
                       .name = name});
  }
};

TEST_F(Flood, OfFiveThousandConnectionsAtEachPortChangesNoLoss) {
  constexpr int num_connections = 5000;
  ASSERT_GT(raise_descriptor_limit(), 2U * num_connections + 100) << "this test holds them all";
  for (const auto& [run, protection] : {std::pair("plain", Words{}), std::pair("dark", tls(good_))}) {
    const std::string other_port = std::to_string(free_port());
    const Words words = protection + named(run);
    // Names of their own: a file of an earlier process would be read until the new one empties it.
    const auto first =
        start_limited(std::string(run) + "-first", words + Words{"--ranks", "1", "--listen", "127.0.0.1:0"});
    const std::string port = port_of(*first);
    std::vector<net::Fd> flood;
    for (int i = 0; i < num_connections; ++i) flood.push_back(connected(std::stoi(port)));
    const auto second =
        start_limited(std::string(run) + "-second",
                      words + Words{"--join", "127.0.0.1:" + port, "--listen", "127.0.0.1:" + other_port});
    first->wait_for_error_text("step 1/200");

    flood.clear();
    for (int i = 0; i < num_connections; ++i) {
      for (const std::string& target : {port, other_port}) flood.push_back(connected(std::stoi(target)));
    }

    EXPECT_EQ(first->wait(), 0) << first->err();
    EXPECT_EQ(second->wait(), 0) << second->err();
  }
  const Outcome quiet = job_.run(named("quiet") + mesh(1, 2) + set("trainer.schedule.total_steps", "200"));
  ASSERT_EQ(quiet.code, 0) << quiet.err;
  EXPECT_EQ(job_.exact_curve("plain"), job_.exact_curve("quiet"));
  EXPECT_EQ(job_.exact_curve("dark"), job_.exact_curve("quiet"));
}

}  // namespace
}  // namespace d9d::test
