// What somebody sends who has heard a node speak: said again to its own job and to another one, it changes nothing.
#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <fstream>
#include <list>
#include <mutex>
#include <thread>

#include "runtime/net/address.hpp"
#include "tests/support/tiny_job.hpp"

namespace d9d::test {
namespace {

using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

constexpr std::size_t captured_bytes_max = std::size_t{256}
                                           << 10;  // of a connection: more than a job's start
const std::string endless = "1000000";

net::Deadline soon() {
  return std::chrono::steady_clock::now() + patience;
}

// Between a node and its peer: passes on all bytes, and keeps what the dialling side says on each connection.
class Relay {
 public:
  explicit Relay(std::uint16_t target)
      : target_(target), listener_(net::listen_on("127.0.0.1", 0)), stop_(eventfd(0, EFD_CLOEXEC)) {
    thread_ = std::thread([this] { run(); });
  }
  ~Relay() {
    eventfd_write(stop_.get(), 1);
    thread_.join();
  }
  Relay(const Relay&) = delete;
  Relay& operator=(const Relay&) = delete;

  std::string address() const { return "127.0.0.1:" + std::to_string(net::port_of(listener_.get())); }
  std::vector<std::string> said() const {
    const std::lock_guard lock(mutex_);
    std::vector<std::string> all;
    for (const Line& line : lines_) all.push_back(line.said);
    return all;
  }

 private:
  struct Line {
    net::Fd dialler, peer;
    std::string said;
  };

  void run() {
    while (true) {
      std::vector<pollfd> sources{{stop_.get(), POLLIN, 0}, {listener_.get(), POLLIN, 0}};
      for (const Line& line : lines_) {
        sources.push_back(
            {line.dialler.get(), POLLIN, 0});  // of one that is closed: -1, which poll leaves out
        sources.push_back({line.peer.get(), POLLIN, 0});
      }
      ::poll(sources.data(), sources.size(), -1);
      if (sources[0].revents != 0) return;
      std::size_t at = 2;
      for (Line& line : lines_) {
        if (sources[at++].revents != 0) pass_on(line, line.dialler, line.peer, true);
        if (sources[at++].revents != 0 && line.peer) pass_on(line, line.peer, line.dialler, false);
      }
      if (sources[1].revents != 0) accept_one();
    }
  }
  void accept_one() {
    net::Fd dialler(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    net::Fd peer = net::connect_to("127.0.0.1", target_, soon());
    const std::lock_guard lock(mutex_);
    lines_.push_back({std::move(dialler), std::move(peer), {}});
  }
  void pass_on(Line& line, const net::Fd& from, const net::Fd& to, bool keeps) {
    std::array<char, 65536> piece{};
    const ssize_t size = ::recv(from.get(), piece.data(), piece.size(), MSG_DONTWAIT);
    if (size < 0 && errno == EAGAIN) return;
    const bool passed = size > 0 && write_all(to, piece.data(), static_cast<std::size_t>(size));
    const std::lock_guard lock(mutex_);
    if (keeps && size > 0 && line.said.size() < captured_bytes_max)
      line.said.append(piece.data(), static_cast<std::size_t>(size));
    if (passed) return;
    line.dialler.reset();
    line.peer.reset();
  }
  static bool write_all(const net::Fd& to, const char* data, std::size_t bytes) {
    while (bytes > 0) {
      const ssize_t sent = ::send(to.get(), data, bytes, MSG_NOSIGNAL);
      if (sent < 0 && errno == EAGAIN && net::wait_for(to.get(), POLLOUT, soon())) continue;
      if (sent <= 0) return false;
      data += sent;
      bytes -= static_cast<std::size_t>(sent);
    }
    return true;
  }

  const std::uint16_t target_;
  const net::Fd listener_, stop_;
  mutable std::mutex mutex_;
  std::list<Line> lines_;
  std::thread thread_;
};

// Says it to that port, and waits until the other side closes.
void say_again(const std::string& port, const std::string& bytes) {
  const net::Fd socket = net::connect_to("127.0.0.1", static_cast<std::uint16_t>(std::stoi(port)), soon());
  std::string_view left = bytes;
  std::array<char, 4096> heard{};
  while (true) {
    if (!left.empty()) {
      const ssize_t sent = ::send(socket.get(), left.data(), left.size(), MSG_NOSIGNAL);
      if (sent < 0 && errno != EAGAIN) return;
      left.remove_prefix(static_cast<std::size_t>(std::max<ssize_t>(sent, 0)));
      if (left.empty()) ::shutdown(socket.get(), SHUT_WR);
    }
    const auto events = static_cast<short>(left.empty() ? POLLIN : POLLIN | POLLOUT);
    ASSERT_TRUE(net::wait_for(socket.get(), events, soon())) << "it is not closed";
    const ssize_t size = ::recv(socket.get(), heard.data(), heard.size(), MSG_DONTWAIT);
    if (size == 0 || (size < 0 && errno != EAGAIN)) return;
  }
}

// Two nodes that train until they are stopped, with a checkpoint every few steps.
struct Pair {
  std::unique_ptr<Process> first, second;
  std::string port;
};

class Replays : public testing::TestWithParam<std::pair<std::string, Words>> {
 protected:
  Replays() { job_.rewrite("{period_steps: last_step}", "{period_steps: 5, num_to_keep: 2}"); }

  Pair start(const std::string& run, const Words& words, std::unique_ptr<Relay>* relay = nullptr) {
    const Words all = mesh(1, 2) + set("trainer.schedule.total_steps", endless) + named(run) + words;
    Pair pair;
    pair.first = job_.start(all + Words{"--ranks", "1", "--listen", "127.0.0.1:0"});
    pair.port = port_of(*pair.first);
    if (relay != nullptr) *relay = std::make_unique<Relay>(static_cast<std::uint16_t>(std::stoi(pair.port)));
    pair.second =
        job_.start(all + Words{"--join", relay != nullptr ? (*relay)->address() : "127.0.0.1:" + pair.port});
    return pair;
  }
  int last_checkpoint(const std::string& run) const {
    const auto steps = job_.checkpoints(run);
    return steps.empty() ? 0 : steps.back();
  }
  // Checkpoints that begin after this call are committed.
  void expect_goes_on(const std::string& run, Pair& pair) {
    const int now = last_checkpoint(run);
    pair.first->wait_until("two more checkpoints", [&] { return last_checkpoint(run) >= now + 15; });
    EXPECT_TRUE(pair.second->running());
  }
  void expect_stops_in_order(const std::string& run, Pair& pair) {
    pair.first->signal(SIGTERM);
    EXPECT_EQ(pair.first->wait(), 128 + SIGTERM) << pair.first->err();
    EXPECT_EQ(pair.second->wait(), 128 + SIGTERM) << pair.second->err();
    EXPECT_THAT(pair.first->err(), HasSubstr("stopped by SIGTERM after step "));
    for (const auto* node : {&pair.first, &pair.second})
      EXPECT_THAT((*node)->err(), AllOf(Not(HasSubstr("refused a message")), Not(HasSubstr("refused node")),
                                        Not(HasSubstr("error"))));
    EXPECT_FALSE(std::filesystem::exists(job_.run_folder(run) / "job.lock"));
  }

  TinyJob job_;
};

TEST_P(Replays, OfAJoinerChangeNothingInItsOwnJobAndInAnotherOne) {
  const Words& secret = GetParam().second;
  std::unique_ptr<Relay> relay;
  Pair own = start("own", secret, &relay);
  Pair other = start("other", secret.empty() ? secret : set("node.job_token", "another"));
  expect_goes_on("own", own);
  expect_goes_on("other", other);
  const auto captured = relay->said();
  ASSERT_GE(captured.size(), 2U) << "messages and tensors";
  const auto longest =
      std::ranges::max(captured, {}, &std::string::size);  // one only looks whether it is reached
  ASSERT_GT(longest.size(), 1000U) << "the Join and all that followed";

  for (const std::string& bytes : captured) {
    for (const std::string& port :
         {own.port, other.port, relay->address().substr(relay->address().find(':') + 1)})
      say_again(port, bytes);
  }

  expect_goes_on("own", own);
  expect_goes_on("other", other);
  expect_stops_in_order("own", own);
  expect_stops_in_order("other", other);
  EXPECT_THAT(own.first->err(), ContainsRegex("refused a connection from 127.0.0.1:[0-9]+: it "));
  // Both are the same job in all but the secret.
  auto curve = job_.exact_curve("own"), quiet = job_.exact_curve("other");
  const std::size_t common = std::min(curve.size(), quiet.size());
  curve.resize(common);
  quiet.resize(common);
  EXPECT_GE(common, 30U);
  EXPECT_EQ(curve, quiet);
}

INSTANTIATE_TEST_SUITE_P(Secrets, Replays,
                         testing::Values(std::pair(std::string("WithAToken"),
                                                   set("node.job_token", "open sesame")),
                                         std::pair(std::string("WithoutAToken"), Words{})),
                         [](const auto& info) { return info.param.first; });

class JobTokens : public testing::Test {
 protected:
  std::string token_file(const std::string& text) {
    const auto file = job_.folder().path() / "token";
    std::ofstream(file) << text;
    std::filesystem::permissions(file,
                                 std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
    return file.string();
  }
  TinyJob job_;
};

TEST_F(JobTokens, OfAFileAndOfTheEnvironmentAreTheSame) {
  const Words from_file = set("node.job_token_file", token_file("open sesame\n"));
  const auto first = job_.start(mesh(1, 2) + from_file + Words{"--ranks", "1", "--listen", "127.0.0.1:0"});
  const std::string port = port_of(*first);
  const Words joins = mesh(1, 2) + Words{"--join", "127.0.0.1:" + port};

  const auto wrong = job_.start(joins, {{"D9D_JOB_TOKEN", "guess"}}), without = job_.start(joins);
  EXPECT_EQ(wrong->wait(), 1);
  EXPECT_EQ(without->wait(), 1);
  EXPECT_THAT(wrong->err(), HasSubstr("node 0 refused this node: the job token (node.job_token) differs"));
  EXPECT_THAT(without->err(), HasSubstr("node 0 refused this node: the job has a job token"));
  first->wait_for_error_text("the job token (node.job_token) differs");
  first->wait_for_error_text("and it gives none");
  const auto second = job_.start(joins, {{"D9D_JOB_TOKEN", "open sesame"}});

  EXPECT_EQ(first->wait(), 0) << first->err();
  EXPECT_EQ(second->wait(), 0) << second->err();
  EXPECT_EQ(job_.losses("tiny").size(), 20U);
}

TEST_F(JobTokens, AreLookedAtBeforeAnythingElseHappens) {
  EXPECT_THAT(job_.run(set("node.job_token_file", token_file("\n"))),
              is_refused("is empty, which keeps nobody out"));
  EXPECT_THAT(job_.run(set("node.job_token_file", token_file("x")) + set("node.job_token", "x")),
              is_refused("node.job_token is given, too"));
  EXPECT_EQ(job_.call({"check", "job.yaml", "--set", "node.job_token_file=nowhere"}).code, 2);
  EXPECT_FALSE(std::filesystem::exists(job_.run_folder("tiny")));
}

TEST_F(JobTokens, OnTheCommandLineAreWarnedOf) {
  EXPECT_THAT(job_.run(set("node.job_token", "x")).err,
              HasSubstr("every user of this host can read a command line"));
}

// The processes of one command have a secret that nobody gave them, and that their command lines do not show.
TEST_F(JobTokens, OfOneCommandAreItsOwn) {
  const auto command =
      job_.start(mesh(1, 2) + set("node.processes", "2") + set("trainer.schedule.total_steps", endless) +
                 Words{"--listen", "127.0.0.1:0"});
  const std::string port = port_of(*command);
  command->wait_for_error_text("step 1/");

  const auto stranger = job_.start(mesh(1, 2) + set("trainer.schedule.total_steps", endless) +
                                   Words{"--join", "127.0.0.1:" + port});

  EXPECT_EQ(stranger->wait(), 1);
  EXPECT_THAT(stranger->err(), HasSubstr("all started by one command, and it was not started by that one"));
  EXPECT_TRUE(command->running());
  command->signal(SIGTERM);
  EXPECT_EQ(command->wait(), 128 + SIGTERM) << command->err();
}

}  // namespace
}  // namespace d9d::test
