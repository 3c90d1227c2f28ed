// Nodes that find each other, and those that must not take part.
#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "tests/support/tiny_job.hpp"

namespace d9d::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// A port of 127.0.0.1 that is taken, though nobody answers there unless it listens.
class TakenPort {
 public:
  explicit TakenPort(bool listens) : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    address_.sin_family = AF_INET;
    address_.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address_;
    auto* address = reinterpret_cast<sockaddr*>(&address_);
    const bool ready = socket_ >= 0 && ::bind(socket_, address, size) == 0 &&
                       ::getsockname(socket_, address, &size) == 0 && (!listens || ::listen(socket_, 1) == 0);
    if (!ready) throw std::system_error(errno, std::generic_category(), "cannot take a port");
  }
  ~TakenPort() { ::close(socket_); }
  TakenPort(const TakenPort&) = delete;
  TakenPort& operator=(const TakenPort&) = delete;

  std::string address() const { return "127.0.0.1:" + std::to_string(ntohs(address_.sin_port)); }

 private:
  const int socket_;
  sockaddr_in address_{};
};

class Nodes : public testing::Test {
 protected:
  // Node 0 of two, with one rank.
  std::unique_ptr<Process> start_first(const Words& words = {}) {
    return job_.start(mesh(1, 2) + Words{"--ranks", "1", "--listen", "127.0.0.1:0"} + words);
  }
  std::unique_ptr<Process> start_joining(const std::string& port, const Words& words = {}) {
    return job_.start(mesh(1, 2) + Words{"--join", "127.0.0.1:" + port} + words);
  }

  void expect_refused(const std::string& port, const Words& words, const std::string& reason) {
    SCOPED_TRACE(reason);
    const auto stranger = start_joining(port, words);
    EXPECT_EQ(stranger->wait(), 1);
    EXPECT_THAT(stranger->err(), AllOf(HasSubstr("node 0 refused this node"), HasSubstr(reason)));
  }

  TinyJob job_;
};

TEST_F(Nodes, ShareTheRanksWhenTheEnvironmentSaysHowManyTheyAre) {
  const std::string address = TakenPort(false).address();
  const std::string port = address.substr(address.find(':') + 1);
  const auto of_node = [&](const char* index) {
    return Environment{
        {"NODE_RANK", index}, {"NNODES", "2"}, {"MASTER_ADDR", "127.0.0.1"}, {"MASTER_PORT", port}};
  };

  const auto second = job_.start(mesh(1, 2), of_node("1"));
  const auto first = job_.start(mesh(1, 2), of_node("0"));

  EXPECT_EQ(first->wait(), 0) << first->err();
  EXPECT_EQ(second->wait(), 0) << second->err();
  EXPECT_EQ(job_.losses("tiny").size(), 20);
}

TEST_F(Nodes, AreTheTasksOfSrunWithNothingSetByHand) {
  std::unique_ptr<Process> first, second;
  // The port follows from the job's id; on a busy machine somebody may have that one.
  for (int attempt = 0; attempt < 5; ++attempt) {
    const auto of_task = [&](const char* task) {
      return Environment{{"SLURM_JOB_ID", std::to_string(::getpid()) + std::to_string(attempt)},
                         {"SLURM_STEP_ID", "0"},
                         {"SLURM_JOB_NODELIST", "localhost"},
                         {"SLURM_NNODES", "1"},
                         {"SLURM_NTASKS", "2"},
                         {"SLURM_PROCID", task},
                         {"SLURM_LOCALID", task},
                         {"SLURM_NODEID", "0"}};
    };
    second = job_.start(mesh(1, 2), of_task("1"));
    first = job_.start(mesh(1, 2), of_task("0"));
    first->wait();
    if (first->err().find("cannot listen on") == std::string::npos) break;
  }

  EXPECT_EQ(first->wait(), 0) << first->err();
  EXPECT_EQ(second->wait(), 0) << second->err();
  EXPECT_EQ(job_.losses("tiny").size(), 20);
}

TEST_F(Nodes, SayWhichVariableOfTheEnvironmentIsWrong) {
  const Environment good{
      {"NODE_RANK", "0"}, {"NNODES", "2"}, {"MASTER_ADDR", "127.0.0.1"}, {"MASTER_PORT", "1"}};
  for (const auto& [key, value, message] :
       std::vector<std::array<const char*, 3>>{{"NODE_RANK", "first", "NODE_RANK is \"first\""},
                                               {"NODE_RANK", "2", "NODE_RANK is 2, but NNODES is 2"},
                                               {"NNODES", "many", "NNODES is \"many\""},
                                               {"NNODES", "3", "NNODES is 3, but the mesh has 2 ranks"},
                                               {"MASTER_PORT", "295000", "MASTER_PORT is \"295000\""},
                                               {"MASTER_ADDR", "", "set MASTER_ADDR"}}) {
    Environment bad = good;
    bad[key] = value;
    if (bad["MASTER_ADDR"].empty()) bad["NODE_RANK"] = "1";  // node 0 listens without it

    const auto node = job_.start(mesh(1, 2), bad);

    EXPECT_EQ(node->wait(), 2) << key;
    EXPECT_THAT(node->err(), HasSubstr(message)) << key;
  }
}

TEST_F(Nodes, WaitOnlySoLongForOneThatNeverJoins) {
  const auto first = start_first(set("node.join_timeout", "2"));

  EXPECT_EQ(first->wait(), 1);
  EXPECT_THAT(first->err(), AllOf(HasSubstr("after 2 s (node.join_timeout)"),
                                  HasSubstr("only 1 of 2 ranks are here"), HasSubstr("--join")));
  EXPECT_FALSE(std::filesystem::exists(job_.run_folder("tiny")));
}

TEST_F(Nodes, StopWhenNobodyListensWhereTheyJoin) {
  const TakenPort silent(false);

  const auto lost =
      job_.start(mesh(1, 2) + Words{"--join", silent.address()} + set("node.join_timeout", "1"));

  EXPECT_EQ(lost->wait(), 1);
  EXPECT_THAT(lost->err(), HasSubstr("cannot reach node 0 at " + silent.address()));
}

TEST_F(Nodes, StopWhenWhoListensThereDoesNotAnswer) {
  const TakenPort mute(true);

  const auto lost = job_.start(mesh(1, 2) + Words{"--join", mute.address()} + set("node.join_timeout", "1"));

  EXPECT_EQ(lost->wait(), 1);
  EXPECT_THAT(lost->err(),
              AllOf(HasSubstr("cannot reach node 0 at " + mute.address()), HasSubstr("does not answer")));
}

TEST_F(Nodes, SayThatTheirPortIsInUse) {
  const TakenPort taken(true);

  EXPECT_THAT(job_.run(mesh(1, 2) + Words{"--ranks", "1", "--listen", taken.address()}),
              fails(AllOf(HasSubstr("cannot listen on " + taken.address()), HasSubstr("in use"))));
}

TEST_F(Nodes, RefuseStrangersAndGoOnWaitingForTheRightOne) {
  const Words token = set("node.job_token", "open sesame");
  const auto first = start_first(token);
  const std::string port = port_of(*first);

  expect_refused(port, {}, "job token");
  expect_refused(port, set("node.job_token", "guess"), "job token");
  expect_refused(
      port, token + set("optimizer.lr", "0.1") + set("output_dir", "elsewhere"),
      "its job file differs from node 0's in optimizer.lr (0.003 at node 0, 0.1 there), output_dir (null "
      "at node 0, \"elsewhere\" there). All sections but `node` must be equal on every host, and node.device "
      "too");
  expect_refused(port, token + Words{"--ranks", "2"}, "it offers 2 ranks but the mesh of 2 has only 1 left");
  EXPECT_TRUE(first->running());
  const auto second = start_joining(port, token);

  EXPECT_EQ(first->wait(), 0) << first->err();
  EXPECT_EQ(second->wait(), 0) << second->err();
  EXPECT_EQ(job_.losses("tiny").size(), 20);
}

TEST_F(Nodes, RefuseAnotherBuildAndNameBoth) {
  const auto first = start_first();
  const std::string own = job_.call({"--version"}).out;

  const auto stranger =
      job_.spawn(Words{"job.yaml"} + mesh(1, 2) + Words{"--join", "127.0.0.1:" + port_of(*first)}, {},
                 "tests/e2e/d9d_other_build");

  EXPECT_EQ(stranger->wait(), 1);
  EXPECT_THAT(stranger->err(),
              AllOf(HasSubstr("it runs another build of d9d"), HasSubstr("0.0.9+other there"),
                    HasSubstr(own.substr(own.find(' ') + 1, own.find('\n') - own.find(' ') - 1) + " here")));
  EXPECT_TRUE(first->running());
}

TEST_F(Nodes, RefuseAThirdOneWhenAllRanksAreTaken) {
  const Words endless = set("trainer.schedule.total_steps", "1000000");
  const auto first = start_first(endless);
  const std::string port = port_of(*first);
  const auto second = start_joining(port, endless);
  first->wait_for_error_text("step 1/1000000");

  expect_refused(port, endless, "all of them are taken");
  EXPECT_TRUE(first->running());
  EXPECT_TRUE(second->running());
}

TEST_F(Nodes, NameTheFileOfTlsThatIsNotThere) {
  EXPECT_THAT(job_.run(set("node.tls", "{ca: job.yaml, certificate: none.pem, key: job.yaml}")),
              is_refused("node.tls.certificate: cannot read none.pem"));
}

TEST_F(Nodes, NeedTlsOrAnExplicitWordBeyondThisHost) {
  EXPECT_THAT(job_.run(Words{"--listen", "0.0.0.0:0"}),
              is_refused(AllOf(HasSubstr("0.0.0.0:0"), HasSubstr("node.tls"), HasSubstr("node.insecure"))));
  EXPECT_FALSE(std::filesystem::exists(job_.run_folder("tiny")));
}

}  // namespace
}  // namespace d9d::test
