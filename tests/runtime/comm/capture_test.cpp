// What a stranger between two nodes reads: everything without TLS, nothing with it.
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros_like.h>
#include <gmock/gmock.h>
#include <poll.h>
#include <sys/socket.h>

#include <cstring>
#include <thread>

#include "runtime/comm/communicator.hpp"
#include "runtime/comm/processes/socket_transport.hpp"
#include "tests/support/certificates.hpp"
#include "tests/support/temporary_folder.hpp"

namespace d9d {
namespace {

using testing::HasSubstr;

constexpr std::chrono::seconds capture_patience{60};
const std::string secret_weights = "the weights of this model are a secret; ";

// Stands between whoever connects and a gate, and writes down all that passes.
class Relay {
 public:
  explicit Relay(std::uint16_t target)
      : listener_(net::listen_on("127.0.0.1", 0)), target_(target), thread_([this] { run(); }) {}
  std::uint16_t port() const { return net::port_of(listener_.get()); }
  // After both ends have closed.
  std::string all() {
    thread_.join();
    return all_;
  }

 private:
  static net::Deadline soon() { return std::chrono::steady_clock::now() + capture_patience; }

  void run() {
    if (!net::wait_for(listener_.get(), POLLIN, soon())) return;
    const net::Fd near(accept(listener_.get(), nullptr, nullptr));
    const net::Fd far = net::connect_to("127.0.0.1", target_, soon());
    pollfd ends[] = {{near.get(), POLLIN, 0}, {far.get(), POLLIN, 0}};
    while (poll(ends, 2, 60'000) > 0) {
      for (int i = 0; i < 2; ++i) {
        if (ends[i].revents != 0 && !pass_on(ends[i].fd, ends[1 - i].fd)) return;
      }
    }
  }
  bool pass_on(int from, int to) {
    std::array<char, 65536> some{};
    const ssize_t n = recv(from, some.data(), some.size(), 0);
    if (n <= 0) return false;
    all_.append(some.data(), static_cast<std::size_t>(n));
    for (ssize_t sent = 0; sent < n;) {
      if (!net::wait_for(to, POLLOUT, soon())) return false;
      const ssize_t m = send(to, some.data() + sent, static_cast<std::size_t>(n - sent), MSG_NOSIGNAL);
      if (m < 0) return false;
      sent += m;
    }
    return true;
  }

  const net::Fd listener_;
  const std::uint16_t target_;
  std::string all_;
  std::thread thread_;
};

std::string captured(const std::shared_ptr<const net::Tls>& tls) {
  net::Gate gates[] = {net::Gate(tls), net::Gate(tls)};
  const std::uint16_t port = gates[0].listen("127.0.0.1", 0);
  Relay relay(port);
  const auto options = [&](int node) {
    SocketTransportOptions of_node{.node = node,
                                   .nodes = {{"127.0.0.1", relay.port()}, {"127.0.0.1", 0}},
                                   .node_of = {},
                                   .job = "job 17"};
    of_node.node_of = [](int rank) { return rank; };
    return of_node;
  };
  SocketTransport first(gates[0], options(0)), second(gates[1], options(1));
  at::Tensor weights = at::empty({static_cast<std::int64_t>(secret_weights.size()) * 10'000}, at::kByte);
  for (int i = 0; i < 10'000; ++i)
    std::memcpy(weights.data_ptr<std::uint8_t>() + i * secret_weights.size(), secret_weights.data(),
                secret_weights.size());
  std::thread sender([&] {
    const auto group = second.open({"replicas[0,1]", {0, 1}, 1, false}, capture_patience);
    group->send(weights, 0, 0);
    group->barrier();
  });
  at::Tensor got = at::zeros_like(weights);
  {
    const auto group = first.open({"replicas[0,1]", {0, 1}, 0, false}, capture_patience);
    group->receive(got, 1, 0).wait();
    group->barrier();
  }
  sender.join();
  EXPECT_TRUE(got.equal(weights));
  return relay.all();
}

TEST(Sockets, CarryEverythingReadablyWithoutTls) {
  const std::string bytes = captured(nullptr);

  EXPECT_THAT(bytes, HasSubstr(secret_weights));
  EXPECT_THAT(bytes, HasSubstr("replicas[0,1]"));
}

TEST(Sockets, CarryNoPlainTensorUnderTls) {
  const test::TemporaryFolder folder;
  const auto tls = std::make_shared<const net::Tls>(test::Authority(folder.path(), "job").issue("node"));

  const std::string bytes = captured(tls);

  EXPECT_GT(bytes.size(), 10'000 * secret_weights.size());
  for (const char* readable : {"secret", "weights", "replicas", "job 17", "d9d hi"}) {
    EXPECT_EQ(bytes.find(readable), std::string::npos) << readable;
  }
}

}  // namespace
}  // namespace d9d
