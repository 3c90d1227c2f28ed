#include "runtime/net/gate.hpp"

#include <gmock/gmock.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <condition_variable>

#include "runtime/base/error.hpp"
#include "runtime/net/dial.hpp"
#include "tests/support/certificates.hpp"
#include "tests/support/error_of.hpp"
#include "tests/support/temporary_folder.hpp"

namespace d9d::net {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;

Deadline soon() {
  return std::chrono::steady_clock::now() + std::chrono::seconds(60);
}

// Keeps what it is given; echoes nothing.
class Keeper final : public Taker {
 public:
  explicit Keeper(Gate& gate) : gate_(gate) { gate_.set_taker(Purpose::tensors, this); }
  ~Keeper() override { gate_.remove_taker(Purpose::tensors, this); }
  Answer ask(const Hello& hello) override {
    return hello.job == "mine" ? Answer{Verdict::yes, {}} : Answer{Verdict::no, "another job"};
  }
  void take(std::unique_ptr<Channel> channel, const Hello& hello) override {
    const std::lock_guard lock(mutex_);
    hello_ = hello;
    channel_ = std::move(channel);
    came_.notify_all();
  }
  Channel& channel() {
    std::unique_lock lock(mutex_);
    came_.wait_until(lock, soon(), [&] { return channel_ != nullptr; });
    return *channel_;
  }
  bool has_any() {
    const std::lock_guard lock(mutex_);
    return channel_ != nullptr;
  }

 private:
  Gate& gate_;
  std::mutex mutex_;
  std::condition_variable came_;
  Hello hello_;
  std::unique_ptr<Channel> channel_;
};

class GateTest : public testing::Test {
 protected:
  std::shared_ptr<const Tls> tls(const test::Authority& authority) const {
    return std::make_shared<const Tls>(authority.issue("node"));
  }
  static DialOptions to(const Gate& gate, const Tls* tls, const std::string& job = "mine") {
    return {.host = "127.0.0.1",
            .port = gate.port(),
            .tls = tls,
            .hello = {.purpose = Purpose::tensors, .job = job, .group = "", .opened = 0},
            .deadline = soon()};
  }
  static std::string error_of(const DialOptions& options) {
    return test::error_of([&] { dial(options); }, ErrorKind::environment);
  }
  // Waits for the end of the stream, and returns whatever came before.
  static std::string all_of(const Fd& socket) {
    std::string all;
    char some[256];
    while (wait_for(socket.get(), POLLIN, soon())) {
      const ssize_t n = recv(socket.get(), some, sizeof(some), 0);
      if (n <= 0) return all;
      all.append(some, static_cast<std::size_t>(n));
    }
    return "still open: " + all;
  }
  static void say(const Fd& socket, const std::string& text) {
    ASSERT_EQ(send(socket.get(), text.data(), text.size(), MSG_NOSIGNAL), static_cast<ssize_t>(text.size()));
  }

  const test::TemporaryFolder folder_;
  const test::Authority authority_{folder_.path(), "job"};
  const test::Authority stranger_{folder_.path(), "stranger"};
};

TEST_F(GateTest, HandsOverAConnectionThatSaysWhatFor) {
  for (const auto& secret : {std::shared_ptr<const Tls>(), tls(authority_)}) {
    Gate gate(secret);
    gate.listen("127.0.0.1", 0);
    Keeper keeper(gate);

    const auto channel = dial(to(gate, secret.get()));
    std::string got(5, ' ');
    EXPECT_TRUE(write_fully(*channel, "bytes", 5, soon()));
    EXPECT_TRUE(read_fully(keeper.channel(), got.data(), 5, soon()));

    EXPECT_EQ(got, "bytes");
  }
}

TEST_F(GateTest, TellsARefusedOneWhy) {
  Gate gate;
  gate.listen("127.0.0.1", 0);
  Keeper keeper(gate);

  EXPECT_EQ(error_of(to(gate, nullptr, "yours")), "another job");
}

TEST_F(GateTest, LetsADiallerWaitForATaker) {
  Gate gate;
  gate.listen("127.0.0.1", 0);
  DialOptions options = to(gate, nullptr);
  options.deadline = std::chrono::steady_clock::now() + milliseconds(200);
  EXPECT_THAT(error_of(options), HasSubstr("does not take part in the job yet"));

  Keeper keeper(gate);
  EXPECT_EQ(error_of(to(gate, nullptr)), "no error");
}

TEST_F(GateTest, RefusesUnderTlsWhoHasNoCertificateOfTheJob) {
  Gate gate(tls(authority_));
  gate.listen("127.0.0.1", 0);
  Keeper keeper(gate);
  const auto other = tls(stranger_);

  EXPECT_EQ(error_of(to(gate, nullptr)),
            "it takes connections under TLS only: give node.tls {ca, certificate, key}");
  EXPECT_THAT(error_of(to(gate, other.get())), HasSubstr("its certificate is not signed by node.tls.ca"));
  EXPECT_FALSE(keeper.has_any());
}

TEST_F(GateTest, SaysThatTheOtherSideHasNoTls) {
  Gate gate;
  gate.listen("127.0.0.1", 0);
  Keeper keeper(gate);
  const auto mine = tls(authority_);

  EXPECT_EQ(error_of(to(gate, mine.get())), "it speaks no TLS: does its job file lack node.tls?");
  EXPECT_FALSE(keeper.has_any());
}

TEST_F(GateTest, GivesGarbageNothingAndClosesIt) {
  for (const auto& secret : {std::shared_ptr<const Tls>(), tls(authority_)}) {
    Gate gate(secret, {.patience = milliseconds(500)});
    gate.listen("127.0.0.1", 0);
    Keeper keeper(gate);
    for (const std::string& text : {std::string(5000, '\0'), std::string("GET / HTTP/1.1\r\nHost: x\r\n\r\n"),
                                    std::string("\x16\x03\x01\x02garbage, not a handshake at all")}) {
      const Fd socket = connect_to("127.0.0.1", gate.port(), soon());
      say(socket, text);

      EXPECT_THAT(all_of(socket), testing::Not(HasSubstr("still open")));
    }
    EXPECT_EQ(error_of(to(gate, secret.get())), "no error");
  }
}

TEST_F(GateTest, ClosesWhoSaysNothingInTime) {
  Gate gate(nullptr, {.patience = milliseconds(50)});
  gate.listen("127.0.0.1", 0);
  const Fd silent = connect_to("127.0.0.1", gate.port(), soon());
  const Fd half = connect_to("127.0.0.1", gate.port(), soon());
  say(half, frame_of(Hello{}).substr(0, 14));

  EXPECT_EQ(all_of(silent), "");
  EXPECT_EQ(all_of(half), "");
}

TEST_F(GateTest, ClosesTheOldestOfTooManyWhoSayNothing) {
  Gate gate(nullptr, {.patience = std::chrono::seconds(600), .newcomers_max = 3});
  gate.listen("127.0.0.1", 0);
  Keeper keeper(gate);
  std::vector<Fd> silent;
  for (int i = 0; i < 4; ++i) silent.push_back(connect_to("127.0.0.1", gate.port(), soon()));

  EXPECT_EQ(all_of(silent.front()), "");
  EXPECT_EQ(error_of(to(gate, nullptr)), "no error");
}

// Every descriptor that the process has left is taken, then given back.
TEST_F(GateTest, OutlivesALackOfDescriptors) {
  Gate gate;
  gate.listen("127.0.0.1", 0);
  Keeper keeper(gate);
  rlimit before{};
  getrlimit(RLIMIT_NOFILE, &before);
  const rlimit few{64, before.rlim_max};
  setrlimit(RLIMIT_NOFILE, &few);
  {
    std::vector<Fd> taken;
    while (taken.empty() || taken.back()) taken.emplace_back(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    taken.pop_back();
    taken.pop_back();
    // Its own end takes the last one, so that the gate has none for the other.
    DialOptions options = to(gate, nullptr);
    options.deadline = std::chrono::steady_clock::now() + milliseconds(100);
    EXPECT_NE(error_of(options), "no error");
  }
  setrlimit(RLIMIT_NOFILE, &before);

  EXPECT_EQ(error_of(to(gate, nullptr)), "no error");
}

TEST_F(GateTest, ListensOnIpv6AndReachesNames) {
  Gate gate;
  try {
    gate.listen("::1", 0);
  } catch (const Error& error) {
    GTEST_SKIP() << error.what();
  }
  Keeper keeper(gate);
  DialOptions options = to(gate, nullptr);
  for (const char* host : {"::1", "[::1]"}) {
    options.host = host;
    EXPECT_EQ(error_of(options), "no error") << host;
  }
}

TEST_F(GateTest, SaysThatItsPortIsTaken) {
  Gate first, second;
  const std::uint16_t port = first.listen("127.0.0.1", 0);

  const std::string error = test::error_of([&] { second.listen("127.0.0.1", port); }, ErrorKind::environment);

  EXPECT_THAT(error, HasSubstr("Is the port in use"));
}

TEST_F(GateTest, NamesWhatIsWrongWithAnAddress) {
  Gate gate;

  EXPECT_THROW(gate.listen("no such host", 0), Error);
  DialOptions nobody = to(gate, nullptr);
  nobody.port = 1;
  EXPECT_THAT(error_of(nobody), HasSubstr("refused"));
}

}  // namespace
}  // namespace d9d::net
