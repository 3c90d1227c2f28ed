#include "runtime/net/address.hpp"

#include <gtest/gtest.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <vector>

namespace d9d::net {
namespace {

class LoopbackAddress {
 public:
  explicit LoopbackAddress(std::uint16_t port) {
    socket_.sin_family = AF_INET;
    socket_.sin_port = htons(port);
    socket_.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    info_.ai_family = AF_INET;
    info_.ai_socktype = SOCK_STREAM;
    info_.ai_addrlen = sizeof(socket_);
    info_.ai_addr = reinterpret_cast<sockaddr*>(&socket_);
  }
  LoopbackAddress(const LoopbackAddress&) = delete;
  LoopbackAddress& operator=(const LoopbackAddress&) = delete;
  addrinfo& info() { return info_; }
  const sockaddr* socket() const { return info_.ai_addr; }

 private:
  sockaddr_in socket_{};
  addrinfo info_{};
};

// Takes no connection: its queue is full, so that the system drops those who call, as a firewall does.
class SilentPort {
 public:
  SilentPort() : listener_(listen_on("127.0.0.1", 0)), address_(port_of(listener_.get())) {
    EXPECT_EQ(listen(listener_.get(), 0), 0);
    for (bool taken = true; taken;) {
      waiting_.emplace_back(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0));
      connect(waiting_.back().get(), address_.socket(), sizeof(sockaddr_in));
      pollfd done{waiting_.back().get(), POLLOUT, 0};
      taken = poll(&done, 1, 200) == 1;
    }
  }
  addrinfo& info() { return address_.info(); }

 private:
  Fd listener_;
  LoopbackAddress address_;
  std::vector<Fd> waiting_;
};

TEST(Address, OneThatDoesNotAnswerLeavesTimeForTheNext) {
  SilentPort silent;
  const Fd listener = listen_on("127.0.0.1", 0);
  LoopbackAddress good(port_of(listener.get()));
  silent.info().ai_next = &good.info();
  const Deadline deadline = std::chrono::steady_clock::now() + std::chrono::seconds(2);

  const Fd connected = connect_to_one_of(&silent.info(), deadline);

  EXPECT_TRUE(connected);
  EXPECT_GT(deadline - std::chrono::steady_clock::now(), std::chrono::milliseconds(1));
}

}  // namespace
}  // namespace d9d::net
