// On loopback only, so that it runs anywhere; tests/e2e/process/hosts_test has other networks.
#include "runtime/base/host/network.hpp"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <sys/socket.h>
#include <unistd.h>

#include "runtime/base/error.hpp"
#include "tests/support/error_of.hpp"

namespace d9d {
namespace {

using namespace std::chrono_literals;
using testing::Contains;
using testing::HasSubstr;

// A listening socket on this address of 127.0.0.0/8.
class Listener {
 public:
  explicit Listener(const char* host) : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    address_.sin_family = AF_INET;
    ::inet_pton(AF_INET, host, &address_.sin_addr);
    socklen_t size = sizeof address_;
    auto* address = reinterpret_cast<sockaddr*>(&address_);
    EXPECT_EQ(::bind(socket_, address, size), 0);
    EXPECT_EQ(::getsockname(socket_, address, &size), 0);
  }
  ~Listener() { ::close(socket_); }
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  void listen() const { EXPECT_EQ(::listen(socket_, 8), 0); }
  std::uint16_t port() const { return ntohs(address_.sin_port); }

 private:
  const int socket_;
  sockaddr_in address_{};
};

TEST(Network, KnowsLoopbackAndWildcardsInAllSpellings) {
  for (const char* host :
       {"localhost", "127.0.0.1", "127.1.2.3", "::1", "0:0:0:0:0:0:0:1", "::ffff:127.0.0.1"})
    EXPECT_TRUE(is_loopback(host)) << host;
  for (const char* host : {"0.0.0.0", "::", "10.0.0.1", "fd00::1", "host", "127.example.org"})
    EXPECT_FALSE(is_loopback(host)) << host;
  EXPECT_TRUE(is_wildcard("0.0.0.0"));
  EXPECT_TRUE(is_wildcard("::"));
  EXPECT_FALSE(is_wildcard("::1"));
  EXPECT_TRUE(is_numeric("fd00::1"));
  EXPECT_FALSE(is_numeric("localhost"));
}

TEST(Network, ANameThatNobodyKnowsIsAnErrorOfTheEnvironmentWithItsName) {
  EXPECT_THAT(test::error_of([&] { addresses_of("nobody.invalid"); }, ErrorKind::environment),
              HasSubstr("nobody.invalid"));
  EXPECT_THAT(addresses_of("localhost"), Contains("127.0.0.1"));
}

TEST(Network, ANumericAddressIsBoundAsItIsAndLocalhostIsLoopback) {
  EXPECT_EQ(address_to_bind("192.0.2.7"), "192.0.2.7");
  EXPECT_EQ(address_to_bind("0.0.0.0"), "0.0.0.0");
  EXPECT_EQ(address_to_bind("localhost"), "127.0.0.1");
}

TEST(Network, ReachesWhoListensAndKnowsBothEnds) {
  const Listener there("127.0.0.7");
  there.listen();

  const Reached reached = reach("127.0.0.7", there.port(), 5s);

  EXPECT_EQ(reached.address, "127.0.0.7");
  EXPECT_EQ(reached.own_address, "127.0.0.1");
}

TEST(Network, SaysWhyItCannotReachSomebody) {
  const Listener silent("127.0.0.1");

  for (const char* host : {"127.0.0.1", "localhost"}) {
    EXPECT_THAT(test::error_of([&] { reach(host, silent.port(), 5s); }, ErrorKind::environment),
                HasSubstr("Connection refused"))
        << host;
  }
}

}  // namespace
}  // namespace d9d
