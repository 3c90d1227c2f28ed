#include "runtime/comm/decorators/reopened.hpp"

#include <ATen/ops/full.h>
#include <gmock/gmock.h>

#include <filesystem>
#include <thread>

#include "runtime/comm/communicator.hpp"
#include "runtime/comm/decorators/traced.hpp"
#include "runtime/comm/open_communicators.hpp"
#include "runtime/comm/processes/socket_transport.hpp"
#include "runtime/comm/shared_memory/shared_memory.hpp"
#include "tests/support/error_of.hpp"

namespace d9d {
namespace {

using std::chrono::seconds;
using testing::AllOf;
using testing::HasSubstr;

std::size_t descriptors() {
  using Entries = std::filesystem::directory_iterator;
  return static_cast<std::size_t>(std::distance(Entries("/proc/self/fd"), Entries()));
}

// Two ranks, each a thread with two groups of the same two ranks under a decorator, as modules hold them.
class Reopened : public testing::Test {
 protected:
  using OpenGroup = std::function<std::unique_ptr<Communicator>(const Group&)>;
  struct Rank {
    ReopenedCommunicators communicators;
    std::vector<std::shared_ptr<Communicator>> groups;
  };

  void open(const OpenGroup& open_group) {
    on_both([&](int rank) {
      for (const char* name : {"first", "second"}) {
        auto opened = ranks_[rank].communicators.open([open_group, name, rank]() {
          return std::shared_ptr<Communicator>(open_group({name, {0, 1}, rank, false}));
        });
        ranks_[rank].groups.push_back(
            make_traced(opened, [](const auto&, auto, const auto& work) { work(); }));
      }
    });
  }
  static void on_both(const std::function<void(int)>& work) {
    std::thread other([&] { work(1); });
    work(0);
    other.join();
  }
  void expect_sums() {
    on_both([&](int rank) {
      for (const auto& group : ranks_[rank].groups) {
        at::Tensor x = at::full({100}, rank + 1.0F);
        group->all_reduce(x, ReduceOp::sum).wait();
        EXPECT_EQ(x[99].item<float>(), 3);
      }
    });
  }
  void expect_the_same_after_a_sleep() {
    for (int sleep = 0; sleep < 3; ++sleep) {
      expect_sums();
      on_both([&](int rank) {
        EXPECT_EQ(ranks_[rank].communicators.close(), 2U);
        ranks_[rank].communicators.reopen();  // the other rank may still have the old ones
      });
    }
    expect_sums();
  }

  Rank ranks_[2];
};

TEST_F(Reopened, SharedMemorySumsAsBefore) {
  SharedMemoryHub hub;
  open([&](const Group& group) { return hub.open(group, seconds(30)); });

  expect_the_same_after_a_sleep();
}

TEST_F(Reopened, SocketsSumAsBeforeAndAreGoneMeanwhile) {
  std::vector<net::Gate> gates(2);
  std::vector<HostPort> addresses;
  for (net::Gate& gate : gates) addresses.push_back({"127.0.0.1", gate.listen("127.0.0.1", 0)});
  std::vector<std::unique_ptr<SocketTransport>> nodes;
  for (int node = 0; node < 2; ++node) {
    nodes.push_back(std::make_unique<SocketTransport>(
        gates[static_cast<std::size_t>(node)],
        SocketTransportOptions{
            .node = node, .nodes = addresses, .node_of = [](int rank) { return rank; }, .job = "job"}));
  }
  const std::size_t without = descriptors();
  open([&](const Group& group) {
    return nodes[static_cast<std::size_t>(group.index)]->open(group, seconds(30));
  });

  expect_the_same_after_a_sleep();

  EXPECT_GE(descriptors(), without + 8) << "an end and a wake-up of each rank in each group";
  on_both([&](int rank) { ranks_[rank].communicators.close(); });
  EXPECT_EQ(descriptors(), without);
}

TEST_F(Reopened, ACallInBetweenIsABugAndAnAbortIsNot) {
  SharedMemoryHub hub;
  open([&](const Group& group) { return hub.open(group, seconds(30)); });
  on_both([&](int rank) { ranks_[rank].communicators.close(); });
  at::Tensor x = at::full({1}, 1.0F);

  EXPECT_THAT(
      test::error_of([&] { ranks_[0].groups[0]->all_reduce(x, ReduceOp::sum).wait(); }, ErrorKind::bug),
      HasSubstr("while the job sleeps"));
  ranks_[0].groups[0]->abort("the job stops");
}

// As the ends of a job that is stopped while it wakes.
TEST_F(Reopened, WhatIsOpenedAfterTheEndFailsAtOnce) {
  SharedMemoryHub hub;
  OpenCommunicators of_process;
  open([&](const Group& group) { return hub.open(group, seconds(30)); });
  Rank late;
  late.groups.push_back(late.communicators.open([&] {
    std::shared_ptr<Communicator> opened = hub.open({"late", {0, 1}, 0, false}, seconds(30));
    of_process.add(opened);
    return opened;
  }));
  late.communicators.close();
  of_process.abort_all("the job stops");
  late.communicators.reopen();

  at::Tensor x = at::full({1}, 1.0F);
  EXPECT_THAT(
      test::error_of([&] { late.groups[0]->all_reduce(x, ReduceOp::sum).wait(); }, ErrorKind::environment),
      AllOf(HasSubstr("group late"), HasSubstr("the job stops")));
}

TEST(ReopenedGroupOfOne, IsNotWrappedAndWhatIsNotHeldAnyMoreIsForgotten) {
  SharedMemoryHub hub;
  ReopenedCommunicators communicators;
  const auto alone = communicators.open([&] {
    return std::shared_ptr<Communicator>(hub.open({"alone", {4}, 0, true}, seconds(1)));
  });
  communicators.open([&] {
    return std::shared_ptr<Communicator>(hub.open({"pair", {4, 5}, 0, true}, seconds(1)));
  });

  EXPECT_EQ(communicators.close(), 0U);
  EXPECT_EQ(alone->size(), 1);
}

}  // namespace
}  // namespace d9d
