#include "runtime/launch/port_probe.hpp"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "runtime/base/error.hpp"

namespace d9d {
namespace {

using testing::HasSubstr;

// Listens on a port of loopback that the system chose.
class Listener {
 public:
  Listener() : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t bytes = sizeof address;
    const bool fine = ::bind(socket_, reinterpret_cast<sockaddr*>(&address), bytes) == 0 &&
                      ::listen(socket_, 1) == 0 &&
                      ::getsockname(socket_, reinterpret_cast<sockaddr*>(&address), &bytes) == 0;
    port_ = fine ? ntohs(address.sin_port) : 0;
  }
  ~Listener() { ::close(socket_); }
  std::uint16_t port() const { return port_; }

 private:
  int socket_;
  std::uint16_t port_ = 0;
};

Caught refusal(const std::string& host, std::uint16_t port) {
  try {
    require_bindable(host, port, "--listen");
  } catch (...) {
    return describe_current_exception();
  }
  return {ErrorKind::bug, "nothing"};
}

TEST(PortProbe, LetsAFreePortOfThisHostPassAsOftenAsItIsAsked) {
  for (const char* host : {"127.0.0.1", "localhost", "0.0.0.0"}) {
    EXPECT_NO_THROW(require_bindable(host, 0, "--listen")) << host;
    EXPECT_NO_THROW(require_bindable(host, 0, "--listen")) << host;
  }
}

TEST(PortProbe, RefusesAPortThatSomebodyListensOn) {
  const Listener listener;
  ASSERT_NE(listener.port(), 0);

  const Caught caught = refusal("127.0.0.1", listener.port());

  EXPECT_EQ(caught.kind, ErrorKind::environment);
  EXPECT_THAT(caught.what, HasSubstr("--listen: cannot listen on 127.0.0.1:"));
  EXPECT_THAT(caught.what, HasSubstr("another process listens there"));
}

TEST(PortProbe, RefusesAnAddressOfAnotherHostAndNamesItsOwn) {
  const Caught caught = refusal("203.0.113.7", 0);  // reserved for documentation (RFC 5737)

  EXPECT_EQ(caught.kind, ErrorKind::input);
  EXPECT_THAT(caught.what, HasSubstr("203.0.113.7 is no address of this host; it has 127.0.0.1"));
}

TEST(PortProbe, LeavesANameThatDoesNotResolveToTheStart) {
  EXPECT_NO_THROW(require_bindable(std::string(300, 'x'), 0, "--listen"));
}

}  // namespace
}  // namespace d9d
