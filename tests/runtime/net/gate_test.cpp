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

// No test waits for it.
constexpr std::chrono::seconds patient{600};

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
  options.redial_after = std::chrono::hours(1);  // behind the deadline: the first answer is the last one
  EXPECT_THAT(error_of(options), HasSubstr("does not take part in the job yet"));

  Keeper keeper(gate);
  EXPECT_EQ(error_of(options), "no error");
}

TEST_F(GateTest, TakesADiallerThatComesBackWhenTheJobHasFormed) {
  Gate gate(nullptr, {.awaits_membership = true});
  gate.listen("127.0.0.1", 0);
  Keeper keeper(gate);
  Secrets member({}, true);
  member.enter_membership("formed");
  DialOptions options = to(gate, nullptr);
  options.secrets = &member;
  options.redial_after = std::chrono::hours(1);
  EXPECT_THAT(error_of(options), HasSubstr("does not take part in the job yet"));

  gate.secrets().enter_membership("formed");

  EXPECT_EQ(error_of(options), "no error");
}

TEST_F(GateTest, RefusesWhoDoesNotKnowTheJobsSecretAndSaysSo) {
  const auto certified = tls(authority_);
  for (const Tls* secret : {static_cast<const Tls*>(nullptr), certified.get()}) {
    Gate gate(secret != nullptr ? certified : nullptr, {.secret = {SecretKind::token, "open sesame"}});
    gate.listen("127.0.0.1", 0);
    Keeper keeper(gate);
    const Secrets right({SecretKind::token, "open sesame"}), guess({SecretKind::token, "guess"});
    DialOptions options = to(gate, secret);

    EXPECT_THAT(error_of(options), HasSubstr("the job has a job token"));
    options.secrets = &guess;
    EXPECT_THROW(dial(options), StrangerError);
    EXPECT_EQ(error_of(options), "it belongs to another job, or to another start of this one");
    options.hello.purpose = Purpose::joining;
    EXPECT_EQ(error_of(options), "the job token (node.job_token) differs");
    options.hello.purpose = Purpose::tensors;
    EXPECT_FALSE(keeper.has_any());
    options.secrets = &right;
    EXPECT_EQ(error_of(options), "no error");
  }
}

TEST_F(GateTest, TellsWhoWantsToJoinThatItIsNotNodeZero) {
  Gate gate(nullptr, {.takes_joins = false});
  gate.listen("127.0.0.1", 0);
  DialOptions options = to(gate, nullptr);
  options.hello.purpose = Purpose::joining;

  EXPECT_THAT(error_of(options), HasSubstr("this is not node 0 of the job"));
}

// Says yes to everything, as somebody might who has taken the port of a node that is gone.
class Impostor {
 public:
  explicit Impostor(std::string says) : says_(std::move(says)), listener_(listen_on("127.0.0.1", 0)) {
    thread_ = std::thread([this] {
      wait_for(listener_.get(), POLLIN, soon());
      const Fd socket(accept(listener_.get(), nullptr, nullptr));
      send(socket.get(), says_.data(), says_.size(), MSG_NOSIGNAL);
      char some[256];
      while (recv(socket.get(), some, sizeof(some), 0) > 0) {
      }
    });
  }
  ~Impostor() { thread_.join(); }
  std::uint16_t port() const { return port_of(listener_.get()); }

 private:
  const std::string says_;
  const Fd listener_;
  std::thread thread_;
};

TEST_F(GateTest, ADiallerTrustsNobodyWhoCannotProveTheSecret) {
  const Secrets secrets({SecretKind::token, "open sesame"});
  const std::string yes = frame_of(Answer{Verdict::yes});
  // Without a challenge the key would be none: also a proof made with nothing but zeros is none.
  const std::string zeros = proof_frame(proof_of(Key{}, Side::accepts, {}));
  for (const std::string& says : {yes + zeros, challenge_frame(Nonce{}) + yes + zeros,
                                  challenge_frame(Nonce{}) + yes + proof_frame(Proof{})}) {
    const Impostor impostor(says);
    const DialOptions options{
        .host = "127.0.0.1", .port = impostor.port(), .secrets = &secrets, .hello = {}, .deadline = soon()};

    EXPECT_THROW(dial(options), StrangerError);
  }
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
    Gate gate(secret, {.patience = patient});
    gate.listen("127.0.0.1", 0);
    Keeper keeper(gate);
    for (const std::string& text :
         {std::string(5000, '\0'), std::string("GET / HTTP/1.1\r\nHost: x\r\n\r\n"),
          std::string("\x16\x03\x01\x00\x05 garbage, not a handshake at all", 36)}) {
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
  const Fd unproved = connect_to("127.0.0.1", gate.port(), soon());
  // On a busy machine it may be closed already.
  const std::string hello = frame_of(Hello{});
  send(half.get(), hello.data(), 14, MSG_NOSIGNAL);
  send(unproved.get(), hello.data(), hello.size(), MSG_NOSIGNAL);

  EXPECT_EQ(all_of(silent), "");
  EXPECT_EQ(all_of(half), "");
  EXPECT_LE(all_of(unproved).size(), hello_head_bytes + proof_body_bytes);
}

TEST_F(GateTest, ClosesTheOldestOfTooManyWhoSayNothing) {
  Gate gate(nullptr, {.patience = patient, .newcomers_max = 3});
  gate.listen("127.0.0.1", 0);
  Keeper keeper(gate);
  std::vector<Fd> silent;
  for (int i = 0; i < 4; ++i) silent.push_back(connect_to("127.0.0.1", gate.port(), soon()));

  EXPECT_EQ(all_of(silent.front()), "");
  EXPECT_EQ(error_of(to(gate, nullptr)), "no error");
}

// A hello is quickly said: those who say one and prove nothing are as many as those who say nothing at all.
TEST_F(GateTest, ClosesTheOldestOfTooManyWhoProveNothing) {
  Gate gate(nullptr, {.patience = patient, .newcomers_max = 3});
  gate.listen("127.0.0.1", 0);
  Keeper keeper(gate);
  std::vector<Fd> unproved;
  std::string challenge(hello_head_bytes + proof_body_bytes, '\0');
  for (int i = 0; i < 50; ++i) {
    unproved.push_back(connect_to("127.0.0.1", gate.port(), soon()));
    say(unproved.back(), frame_of(Hello{.purpose = Purpose::tensors}));
    const auto channel = make_channel(Fd(dup(unproved.back().get())), nullptr, Side::dials);
    ASSERT_TRUE(read_fully(*channel, challenge.data(), challenge.size(), soon())) << "it is challenged";
  }

  for (int i = 0; i < 47; ++i) EXPECT_EQ(all_of(unproved[static_cast<std::size_t>(i)]), "") << "and closed";
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
