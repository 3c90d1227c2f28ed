// Two processes: the child is forked before torch has started a thread of its own.
#include <ATen/ops/full.h>
#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <functional>

#include "runtime/base/error.hpp"
#include "runtime/comm/communicator.hpp"
#include "runtime/comm/processes/socket_transport.hpp"
#include "tests/support/error_of.hpp"

namespace d9d {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds process_timeout{20'000};

// Rank 0's node listens on `port`. Rank 1 dials, so its own address is not needed.
SocketTransportOptions node(int index, std::uint16_t port) {
  return {.node = index,
          .nodes = {{"127.0.0.1", port}, {"127.0.0.1", 0}},
          .node_of = [](int rank) { return rank; },
          .job = "test"};
}

// Rank 1 in a process of its own; ends with exit code 0 when the work did not throw.
class Child {
 public:
  explicit Child(void (*work)(Communicator&)) {
    int ends[2];
    if (pipe(ends) != 0) throw std::runtime_error("pipe");
    process_ = fork();
    if (process_ == 0) _exit(run(ends[0], work));
    pipe_ = ends[1];
  }
  void tell(std::uint16_t port) const {
    if (write(pipe_, &port, sizeof(port)) != sizeof(port)) throw std::runtime_error("write");
  }
  void kill_now() const { kill(process_, SIGKILL); }
  int wait() const {
    int status = -1;
    waitpid(process_, &status, 0);
    return status;
  }

 private:
  static int run(int pipe, void (*work)(Communicator&)) {
    try {
      std::uint16_t port = 0;
      if (read(pipe, &port, sizeof(port)) != sizeof(port)) return 2;
      net::Gate gate;
      SocketTransport transport(gate, node(1, port));
      work(*transport.open({"pair", {0, 1}, 1, false}, process_timeout));
      return 0;
    } catch (const std::exception&) {
      return 1;
    }
  }
  pid_t process_ = 0;
  int pipe_ = 0;
};

TEST(SocketsBetweenProcesses, SumsAndDelivers) {
  const Child child([](Communicator& group) {
    at::Tensor tensor = at::full({100'000}, 2.0F);
    group.all_reduce(tensor, ReduceOp::sum).wait();
    group.send(tensor, 0, 0);
  });
  net::Gate gate;
  SocketTransport transport(gate, node(0, gate.listen("127.0.0.1", 0)));
  child.tell(gate.port());
  const auto group = transport.open({"pair", {0, 1}, 0, false}, process_timeout);
  at::Tensor tensor = at::full({100'000}, 1.0F), got = at::full({100'000}, 0.0F);

  group->all_reduce(tensor, ReduceOp::sum).wait();
  group->receive(got, 1, 0).wait();

  EXPECT_EQ(tensor[99'999].item<float>(), 3.0F);
  EXPECT_EQ(got[99'999].item<float>(), 3.0F);
  EXPECT_EQ(child.wait(), 0);
}

// How a connection ends when its other end is killed: the reader sees it closed or reset, the writer a pipe
// without a reader. Not among them is the time limit's.
auto connection_ended() {
  return testing::AnyOf(testing::HasSubstr("the connection was closed"),
                        testing::HasSubstr("Connection reset by peer"), testing::HasSubstr("Broken pipe"));
}

// The group of the two, after both have met in it.
struct Pair {
  explicit Pair(const Child& child) : transport(gate, node(0, gate.listen("127.0.0.1", 0))) {
    child.tell(gate.port());
    group = transport.open({"pair", {0, 1}, 0, false}, process_timeout);
    group->barrier();
  }
  net::Gate gate;
  SocketTransport transport;
  std::unique_ptr<Communicator> group;
};

void meet_and_stay(Communicator& group) {
  group.barrier();
  pause();
}

void expect_rank_1_is_lost(const char* operation, const std::function<void()>& call) {
  EXPECT_THAT(test::error_of(call, ErrorKind::environment),
              testing::AllOf(testing::StartsWith(std::string(operation) +
                                                 " of group pair (sockets): rank 1: node 1 at 127.0.0.1:"),
                             connection_ended(), testing::Not(testing::HasSubstr("[/"))));
}

TEST(SocketsBetweenProcesses, NoticeAPeerThatIsKilled) {
  const Child child(meet_and_stay);
  Pair pair(child);

  child.kill_now();

  expect_rank_1_is_lost("barrier", [&] { pair.group->barrier(); });
  child.wait();
}

TEST(SocketsBetweenProcesses, NameAPeerThatWasLostBeforeTheCall) {
  const Child child(meet_and_stay);
  Pair pair(child);
  at::Tensor tensor = at::full({3}, 1.0F);

  child.kill_now();
  child.wait();

  expect_rank_1_is_lost("receive", [&] { pair.group->receive(tensor, 1, 0).wait(); });
  expect_rank_1_is_lost("barrier", [&] { pair.group->barrier(); });
}

TEST(SocketsBetweenProcesses, OutliveWritesToAPeerThatIsGone) {
  const Child child(meet_and_stay);
  Pair pair(child);
  const at::Tensor tensor = at::full({1'000'000}, 1.0F);
  child.kill_now();
  child.wait();

  // The first write may still find room; after the reset that it provokes, the next would raise SIGPIPE.
  const auto write_on = [&] {
    for (int i = 0; i < 1000; ++i) pair.group->send(tensor, 1, 0);
  };

  EXPECT_THROW(write_on(), Error);
}

}  // namespace
}  // namespace d9d
